package main

import (
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/test/audit"
)

// auditLog tells the requests of one account of systemNamespace from the others. It is for one goroutine.
type auditLog struct{ audit.Log }

// since returns the requests of an account that arrived since it was last asked, those for its Lease left out.
func (a *auditLog) since(account string) ([]audit.Request, error) {
	requests, err := a.Next()
	return of("system:serviceaccount:"+systemNamespace+":"+account, requests), err
}

// of returns the requests of one user, those for its Lease left out.
func of(user string, requests []audit.Request) []audit.Request {
	return slices.DeleteFunc(requests, func(r audit.Request) bool { return r.User.Username != user || isElection(r) })
}

// isElection says whether the request only keeps an operator the leader.
func isElection(r audit.Request) bool {
	return r.ObjectRef.Namespace == systemNamespace && slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource)
}

// kind is verb and resource, such as "patch collectors/status". What is no resource is discovery, or the path.
func kind(r audit.Request) string {
	if resource := r.Resource(); resource != "" {
		return r.Verb + " " + resource
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.HasPrefix(path, "/api") || strings.HasPrefix(path, "/openapi") {
		return r.Verb + " discovery"
	}
	return r.Verb + " " + path
}

// counts are requests by kind.
type counts map[string]int

func (c counts) add(requests []audit.Request) (writes int) {
	for _, r := range requests {
		c[kind(r)]++
		if r.IsWrite() {
			writes++
		}
	}
	return writes
}
