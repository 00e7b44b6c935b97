package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kube8/kube8-operator/test/audit"
)

func TestWhatAnOperatorUsesIsReadUntilItEnds(t *testing.T) {
	p, err := start(t.TempDir(), "", filepath.Join(t.TempDir(), "log"), nil, "bash", "-c", "while :; do :; done")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.stop() })
	if err := poll(t.Context(), func() (bool, error) {
		used, err := p.cpu()
		return used >= 50*time.Millisecond, err
	}); err != nil {
		t.Fatal(err)
	}
	now, peak, err := p.memory()
	if err != nil || now < 1 || now > 1024 || peak < now {
		t.Errorf("got %v and %v MiB, %v", now, peak, err)
	}
	if err := p.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.cpu(); err == nil || !strings.Contains(err.Error(), "the operator ended") {
		t.Errorf("got error %v of an operator that has ended", err)
	}
}

const auditLines = `{"verb":"get","requestURI":"/version","user":{"username":"system:serviceaccount:kube8-operator-system:stock"}}
{"verb":"list","requestURI":"/api/v1/secrets?limit=500","user":{"username":"system:serviceaccount:kube8-operator-system:floor"},"objectRef":{"resource":"secrets"}}
{"verb":"get","requestURI":"/apis/apps/v1?timeout=32s","user":{"username":"system:serviceaccount:kube8-operator-system:stock"}}
{"verb":"update","requestURI":"/x","user":{"username":"system:serviceaccount:kube8-operator-system:stock"},"objectRef":{"resource":"leases","namespace":"kube8-operator-system"}}
{"verb":"update","requestURI":"/x","user":{"username":"system:serviceaccount:kube8-operator-system:stock"},"objectRef":{"resource":"collectors","subresource":"status","namespace":"tenant-000"}}
{"verb":"deletecollection","requestURI":"/x","user":{"username":"system:serviceaccount:kube8-operator-system:stock"},"objectRef":{"resource":"pods","namespace":"tenant-000"}}
{"verb":"watch","requestURI":"/x","user":{"username":"system:serviceaccount:kube8-operator-system:stock"},"objectRef":{"resource":"pods"}}
`

func TestRequestsAreCountedByKindForOneAccountWithoutItsLease(t *testing.T) {
	requests, err := audit.Parse([]byte(auditLines))
	if err != nil {
		t.Fatal(err)
	}
	got := counts{}
	writes := got.add(of("system:serviceaccount:kube8-operator-system:stock", requests))
	want := counts{
		"get /version": 1, "get discovery": 1, "update collectors/status": 1, "deletecollection pods": 1, "watch pods": 1,
	}
	if writes != 2 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %d writes of %v, want 2 of %v", writes, got, want)
	}
}

func TestQuietIsNoRequestAndNoCPUForSomeSeconds(t *testing.T) {
	type sample struct {
		after    time.Duration
		cpu      time.Duration
		requests int
	}
	for name, test := range map[string]struct {
		samples []sample
		quiet   bool
		since   time.Duration
	}{
		"too short a time is not enough":    {[]sample{{0, 0, 1}, {quietFor - 1, 0, 0}}, false, 0},
		"long enough is":                    {[]sample{{0, 0, 1}, {quietFor, 0, 0}}, true, 0},
		"a request begins it anew":          {[]sample{{0, 0, 0}, {4 * time.Second, 0, 1}, {6 * time.Second, 0, 0}}, false, 4 * time.Second},
		"so does CPU time":                  {[]sample{{0, 0, 0}, {4 * time.Second, 2 * idle, 0}, {6 * time.Second, 2 * idle, 0}}, false, 4 * time.Second},
		"so does CPU time little by little": {[]sample{{0, 0, 0}, {2 * time.Second, idle, 0}, {4 * time.Second, idle + 1, 0}, {6 * time.Second, idle + 1, 0}}, false, 4 * time.Second},
		"what an idle process uses does not": {
			[]sample{{0, 0, 1}, {2 * time.Second, idle / 2, 0}, {quietFor, idle, 0}}, true, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			var last activity
			quiet := false
			for _, s := range test.samples {
				quiet = last.observe(began.Add(s.after), s.cpu, s.requests)
			}
			if since := last.since.Sub(began); quiet != test.quiet || since != test.since {
				t.Errorf("got %v since %v, want %v since %v", quiet, since, test.quiet, test.since)
			}
		})
	}
}
