// Command scorecard is the image of the scorecard tests that are this operator's own, beside the stock ones: in a pod, it
// takes the example of the bundle at /bundle, which operator-sdk scorecard mounts, creates it beside itself, and prints
// what it found. The same image unpacks the bundle, because the stock one for that is not built here.
package main

import (
	"context"
	"encoding/json"
	"errors"
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

var tests = map[string]func(context.Context, *trial) error{
	"example-becomes-ready":           exampleBecomesReady,
	"deleted-example-leaves-nothing":  deletedExampleLeavesNothing,
	"status-has-its-descriptors-only": statusHasItsDescriptorsOnly,
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "scorecard:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 5 && args[0] == "tar" { // tar xvzf ARCHIVE -C FOLDER
		return untar(args[2], args[4])
	}
	if len(args) != 1 || tests[args[0]] == nil {
		return errors.New("usage: scorecard tar xvzf ARCHIVE -C FOLDER | scorecard TEST")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	out, err := json.MarshalIndent(status{Results: []result{test(ctx, args[0])}}, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Println(string(out))
	return err
}

// test runs one test.
func test(ctx context.Context, name string) result {
	out := result{Name: name, State: "pass"}
	r, err := newTrial(bundleDir, os.Getenv("SCORECARD_NAMESPACE"))
	if err == nil {
		err = tests[name](ctx, r)
		out.Log = r.log.String()
	}
	if err != nil {
		out.State, out.Errors = "fail", []string{err.Error()}
	}
	return out
}
