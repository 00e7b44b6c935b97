//go:build !runonly

package main

import "github.com/kube8/kube8-operator/internal/render"

func init() { optional = append(optional, render.NewCommand) }
