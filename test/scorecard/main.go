// Command scorecard is the image of the scorecard tests that are this operator's own, beside the stock ones: in a pod, it
// takes the example of the bundle at /bundle, which operator-sdk scorecard mounts, creates it beside itself, and prints
// what it found. The same image unpacks the bundle, because the stock one for that is not built here.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

const bundleDir = "/bundle"

// status is what operator-sdk scorecard reads from a test's log.
type status struct {
	Results []result `json:"results"`
}

type result struct {
	Name        string   `json:"name"`
	State       string   `json:"state"` // pass or fail
	Log         string   `json:"log,omitempty"`
	Errors      []string `json:"errors,omitempty"`
	Suggestions []string `json:"suggestions,omitempty"`
}

var tests = map[string]func(context.Context, *run) error{
	"example-becomes-ready":           exampleBecomesReady,
	"deleted-example-leaves-nothing":  deletedExampleLeavesNothing,
	"status-has-its-descriptors-only": statusHasItsDescriptorsOnly,
}

func main() {
	args := os.Args[1:]
	if len(args) == 5 && args[0] == "tar" { // tar xvzf ARCHIVE -C FOLDER
		if err := untar(args[2], args[4]); err != nil {
			fmt.Fprintln(os.Stderr, "tar:", err)
			os.Exit(1)
		}
		return
	}
	if len(args) != 1 || tests[args[0]] == nil {
		fmt.Fprintln(os.Stderr, "usage: scorecard tar xvzf ARCHIVE -C FOLDER | scorecard TEST")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	out, err := json.MarshalIndent(status{Results: []result{test(ctx, args[0])}}, "", "  ")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(string(out))
}

// test runs one test.
func test(ctx context.Context, name string) result {
	out := result{Name: name, State: "pass"}
	r, err := newRun(bundleDir, os.Getenv("SCORECARD_NAMESPACE"))
	if err == nil {
		err = tests[name](ctx, r)
		out.Log = r.log.String()
	}
	if err != nil {
		out.State, out.Errors = "fail", []string{err.Error()}
	}
	return out
}
