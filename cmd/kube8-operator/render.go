//go:build !runonly

package main

import "github.com/kube8/kube8-operator/internal/offline"

func init() { optional = append(optional, offline.NewCommand) }
