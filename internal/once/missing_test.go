package once

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

func TestWhatIsMissingIsAskedForOnce(t *testing.T) {
	const path = "/api/v1/namespaces/acme/services/gateway"
	get, post := http.MethodGet, http.MethodPost
	tests := map[string]struct {
		there bool
		asked []string
		want  []string // by the API server
	}{
		"an object that is missing":                           {asked: []string{get, get, get}, want: []string{get}},
		"an object that is missing, until the pass writes it": {asked: []string{get, post, get}, want: []string{get, post, get}},
		"an object that is there":                             {there: true, asked: []string{get, get}, want: []string{get, get}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Method)
				if !test.there {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusNotFound)
				}
				_, _ = w.Write([]byte(`{"kind":"Status"}`))
			}))
			defer server.Close()
			client := &http.Client{Transport: &remembering{next: server.Client().Transport, missing: map[string][]byte{}}}
			for _, method := range test.asked {
				request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				response, err := client.Do(request)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if err != nil || string(body) != `{"kind":"Status"}` || (response.StatusCode == http.StatusNotFound) == test.there {
					t.Errorf("%s: %d %q, %v", method, response.StatusCode, body, err)
				}
				_ = response.Body.Close()
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the API server was asked %q, want %q", got, test.want)
			}
		})
	}
}
