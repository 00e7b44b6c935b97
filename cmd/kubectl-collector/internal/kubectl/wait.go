package kubectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// waiting is whether a command waits for what it has begun, and for how long.
type waiting struct {
	wait    bool
	timeout time.Duration
}

func (w *waiting) addFlags(flags *pflag.FlagSet, what string, byDefault bool) {
	flags.BoolVar(&w.wait, "wait", byDefault, what)
	flags.DurationVar(&w.timeout, "timeout", 5*time.Minute, "how long to wait, such as 90s")
}

// untilReady is what most commands wait for.
const untilReady = "wait until the Collector is ready with the change"

// notReadyError says that a Collector did not become what was waited for.
type notReadyError struct{ error }

// refusedTimeout is how long a refusal of the API server has to last: a quota that is new, or a right, may follow in a moment.
const refusedTimeout = 30 * time.Second

// isOver tells whether no waiting makes a Collector ready: it is paused, or the operator cannot go on by itself.
func isOver(collector *v1alpha1.Collector, ready v1alpha1.Condition) bool {
	isCurrent, stalled := collector.Status.ObservedGeneration >= collector.Generation, conditionOf(collector, v1alpha1.Stalled)
	mayPass := ready.Reason == v1alpha1.ReasonReleaseFailed && time.Since(stalled.LastTransitionTime.Time) < refusedTimeout
	return isPaused(collector, ready) || isCurrent && stalled.Status == corev1.ConditionTrue && !mayPass
}

// isPaused tells whether a condition says that a Collector is paused, and that is so: a status stays for a moment after the pause.
func isPaused(collector *v1alpha1.Collector, condition v1alpha1.Condition) bool {
	paused, _ := v1alpha1.IsPaused(collector)
	return paused && condition.Reason == v1alpha1.ReasonPaused
}

// until waits until a Collector is ready as it is now, and tells each news of it. It is an error if that needs a change.
func (p *plugin) until(ctx context.Context, s *session, name string, w waiting) error {
	if !w.wait || p.isDry() {
		return nil
	}
	return p.follow(ctx, s, name, w, func(collector *v1alpha1.Collector) (said string, done bool, err error) {
		if collector == nil {
			return "", false, notReadyError{fmt.Errorf("collector %s/%s was deleted meanwhile", s.namespace, name)}
		}
		ready := v1alpha1.Condition{Reason: v1alpha1.ReasonProgressing, Message: "the operator has not reconciled the change yet"}
		for _, condition := range collector.Status.Conditions {
			isCurrent := collector.Status.ObservedGeneration >= collector.Generation || isPaused(collector, condition)
			if condition.Type == "Ready" && isCurrent {
				ready = condition
			}
		}
		said = ready.Reason + ": " + ready.Message
		if ready.Status != corev1.ConditionTrue && isOver(collector, ready) {
			return said, false, notReadyError{fmt.Errorf("collector %s/%s does not become ready by itself; "+
				"`kubectl collector why %[2]s -n %[1]s` says why", s.namespace, name)}
		}
		return said, ready.Status == corev1.ConditionTrue, nil
	})
}

// follow reads a Collector, or nil once it has gone, until that is done, and prints what is new.
func (p *plugin) follow(
	ctx context.Context, s *session, name string, w waiting, look func(*v1alpha1.Collector) (said string, done bool, err error),
) error {
	late := time.After(w.timeout)
	tick := time.NewTicker(period / 4)
	defer tick.Stop()
	before := ""
	for {
		collector := &v1alpha1.Collector{}
		err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, collector)
		if apierrors.IsNotFound(err) {
			collector, err = nil, nil
		}
		if err != nil {
			return s.failed("read", name, err)
		}
		said, done, err := look(collector)
		if said != "" && said != before {
			fmt.Fprintln(p.ErrOut, said)
			before = said
		}
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err() //nolint:wrapcheck // the user has ended it
		case <-late:
			return notReadyError{fmt.Errorf("collector %s/%s was waited for in vain, for %s; "+
				"`kubectl collector why %[2]s -n %[1]s` says why", s.namespace, name, w.timeout)}
		case <-tick.C:
		}
	}
}

// Exit codes of the plugin. Each other error is 1.
const (
	exitError    = 1
	exitRefused  = 2
	exitNotReady = 3
)

// ExitCode returns the exit code for an error: 2 if the check of the plugin refuses a Collector, 3 if one does not become ready, else 1.
func ExitCode(err error) int {
	if _, isRefused := errors.AsType[refusedError](err); isRefused {
		return exitRefused
	}
	if _, isNotReady := errors.AsType[notReadyError](err); isNotReady {
		return exitNotReady
	}
	return exitError
}
