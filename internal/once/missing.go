package once

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// remembering is the way to the API server for one pass. What was not there when it was asked for is still not there the
// next time, as long as the pass has not created anything: who creates it meanwhile has the pass's own creation refused.
type remembering struct {
	next http.RoundTripper

	mutex   sync.Mutex
	missing map[string][]byte // answers, by path
}

// RoundTrip answers a request.
func (r *remembering) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.Path
	if request.Method != http.MethodGet {
		r.mutex.Lock()
		clear(r.missing)
		r.mutex.Unlock()
		return r.next.RoundTrip(request) //nolint:wrapcheck // decorated, not called
	}
	r.mutex.Lock()
	body, known := r.missing[path]
	r.mutex.Unlock()
	if known {
		return notFound(request, body), nil
	}
	response, err := r.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusNotFound {
		return response, err //nolint:wrapcheck // decorated, not called
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	r.mutex.Lock()
	r.missing[path] = body
	r.mutex.Unlock()
	return notFound(request, body), nil
}

func notFound(request *http.Request, body []byte) *http.Response {
	return &http.Response{
		Status:     "404 Not Found",
		StatusCode: http.StatusNotFound,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       request,
	}
}
