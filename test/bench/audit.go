package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// request is one request of a ServiceAccount, as the API server recorded it when it arrived.
type request struct {
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
	} `json:"objectRef"`
}

func (r request) isWrite() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
}

// isElection says whether the request only keeps an operator the leader.
func (r request) isElection() bool {
	return r.ObjectRef.Namespace == systemNamespace && slices.Contains([]string{"leases", "events"}, r.ObjectRef.Resource)
}

// kind is verb and resource, such as "patch collectors/status". What is no resource is discovery, or the path.
func (r request) kind() string {
	switch ref := r.ObjectRef; {
	case ref.Subresource != "":
		return r.Verb + " " + ref.Resource + "/" + ref.Subresource
	case ref.Resource != "":
		return r.Verb + " " + ref.Resource
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if strings.HasPrefix(path, "/api") || strings.HasPrefix(path, "/openapi") {
		return r.Verb + " discovery"
	}
	return r.Verb + " " + path
}

// auditLog reads the API server's audit log as it grows. It is for one goroutine.
type auditLog struct {
	path   string
	offset int64
}

// since returns the requests of an account of systemNamespace that arrived since it was last asked, those for its Lease
// left out.
func (a *auditLog) since(account string) ([]request, error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, a.offset, 1<<62))
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	a.offset += int64(len(text))
	return parseAudit(text, "system:serviceaccount:"+systemNamespace+":"+account)
}

func parseAudit(text []byte, user string) ([]request, error) {
	var found []request
	for line := range bytes.Lines(text) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		if r.User.Username == user && !r.isElection() {
			found = append(found, r)
		}
	}
	return found, nil
}

// counts are requests by kind.
type counts map[string]int

func (c counts) add(requests []request) (writes int) {
	for _, r := range requests {
		c[r.kind()]++
		if r.isWrite() {
			writes++
		}
	}
	return writes
}
