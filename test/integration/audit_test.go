package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
)

// request is one request of a ServiceAccount, as the API server recorded it.
type request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	ObjectRef  struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
}

func (r request) String() string {
	ref := r.ObjectRef
	return fmt.Sprintf("%s %s/%s %s/%s", r.Verb, ref.Resource, ref.Subresource, ref.Namespace, ref.Name)
}

func (r request) isWrite() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
}

// isElection says whether the request only keeps the operator the leader.
func (r request) isElection() bool {
	return r.ObjectRef.Namespace == systemNamespace && slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource)
}

// auditLog reads the API server's audit log as it grows.
type auditLog struct {
	path string

	mutex    sync.Mutex
	offset   int64
	requests []request
}

// mark is the point in the log up to which requests have arrived by now.
func (a *auditLog) mark(t *testing.T) int {
	t.Helper()
	return len(a.read(t))
}

// writes returns the write requests since a mark that touch a namespace, or any namespace for "".
func (a *auditLog) writes(t *testing.T, since int, namespace string) []string {
	t.Helper()
	found := []string{}
	for _, r := range a.read(t)[since:] {
		if r.isWrite() && !r.isElection() && (namespace == "" || r.ObjectRef.Namespace == namespace) {
			found = append(found, r.String())
		}
	}
	return found
}

// all returns all requests since a mark that touch a namespace.
func (a *auditLog) all(t *testing.T, since int, namespace string) []string {
	t.Helper()
	found := []string{}
	for _, r := range a.read(t)[since:] {
		if r.ObjectRef.Namespace == namespace {
			found = append(found, r.String())
		}
	}
	return found
}

func (a *auditLog) read(t *testing.T) []request {
	t.Helper()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	file, err := os.Open(a.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, a.offset, 1<<62))
	if err != nil {
		t.Fatal(err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	a.offset += int64(len(text))
	for line := range bytes.Lines(text) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("audit log: %v", err)
		}
		a.requests = append(a.requests, r)
	}
	return a.requests
}
