package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kube8/kube8-operator/test/audit"
)

func TestParseStat(t *testing.T) {
	const rest = " S 1 1 1 0 -1 4194560 10 0 0 0 123 45 7 7 20 0 9 0 100 1000 200"
	for name, test := range map[string]struct {
		text  string
		want  time.Duration
		fails bool
	}{
		"user and system time are added, those of children are not":  {text: "42 (operator)" + rest, want: 1680 * time.Millisecond},
		"a name with blanks and parentheses does not shift the rest": {text: "42 (an (odd) name)" + rest, want: 1680 * time.Millisecond},
		"what is too short is refused":                               {text: "42 (operator) S 1 1", fails: true},
		"what is no number is refused":                               {text: "42 (operator)" + strings.Replace(rest, "123", "x", 1), fails: true},
		"nothing is refused":                                         {fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(test.text))
			if got != test.want || (err != nil) != test.fails {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
		})
	}
}

func TestParseStatus(t *testing.T) {
	now, peak, err := parseStatus([]byte("Name:\toperator\nVmHWM:\t  102400 kB\nVmRSS:\t   51200 kB\nThreads:\t9\n"))
	if now != 50 || peak != 100 || err != nil {
		t.Errorf("got %v and %v MiB, %v, want 50 and 100", now, peak, err)
	}
	if _, _, err := parseStatus([]byte("Name:\toperator\nState:\tZ (zombie)\n")); err == nil {
		t.Error("a process without memory must be refused")
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
				quiet = last.observe(began.Add(s.after), s.cpu, idle, s.requests)
			}
			if since := last.since.Sub(began); quiet != test.quiet || since != test.since {
				t.Errorf("got %v since %v, want %v since %v", quiet, since, test.quiet, test.since)
			}
		})
	}
}
