// Package audit reads the API server's audit log, which says of each request who made it and what the answer was.
package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Request is one request, as the API server recorded it at one stage. Fields that are not read are left out.
type Request struct {
	// Stage is RequestReceived before anything was done, and ResponseComplete after the last byte of the answer.
	Stage      string    `json:"stage"`
	Verb       string    `json:"verb"`
	RequestURI string    `json:"requestURI"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	// ObjectRef is empty for what is no resource, such as discovery.
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	// ResponseStatus is the answer, from the stage ResponseStarted on.
	ResponseStatus struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"responseStatus"`
	// Annotations say among others what the authorizer decided.
	Annotations map[string]string `json:"annotations"`
}

// Resource is what a role calls the resource, such as "collectors/status", or "" for what is none.
func (r Request) Resource() string {
	if r.ObjectRef.Subresource == "" {
		return r.ObjectRef.Resource
	}
	return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
}

// IsWrite says whether the request would change something.
func (r Request) IsWrite() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, r.Verb)
}

// Period is a time in which refusals tell nothing, because roles are not there yet or not any more.
type Period struct{ From, To time.Time }

// Has says whether a request arrived in the period.
func (p Period) Has(r Request) bool { return r.Received.After(p.From) && r.Received.Before(p.To) }

// Log reads an audit log as it grows. It is for one goroutine.
type Log struct {
	Path   string
	offset int64
}

// Skip leaves out what is in the log by now. A log that is not there yet is empty.
func (l *Log) Skip() error {
	info, err := os.Stat(l.Path)
	if err == nil {
		l.offset = info.Size()
	}
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// Next returns what was recorded since it was last asked.
func (l *Log) Next() ([]Request, error) {
	file, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || info.Size() < l.offset {
		return nil, errors.Join(err, fmt.Errorf("audit log %s is shorter than it was: the API server has begun a new one", l.Path))
	}
	text, err := io.ReadAll(io.NewSectionReader(file, l.offset, 1<<62))
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the last line may not be whole yet
	l.offset += int64(len(text))
	return Parse(text)
}

// Parse reads the lines of a log.
func Parse(text []byte) ([]Request, error) {
	var found []Request
	for line := range bytes.Lines(text) {
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		found = append(found, r)
	}
	return found, nil
}
