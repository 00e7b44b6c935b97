package kubectl

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
)

const (
	// maxEvents is how many events a screen has room for.
	maxEvents = 5

	// period is how often `status --watch` looks. The operator writes news of pods at most that often, too.
	period = 2 * time.Second
)

func (p *plugin) statusCommand() *cobra.Command {
	var watch bool
	var output format
	cmd := p.about("status", "Show on one screen what runs, and what to do next",
		`Show on one screen what runs, how its pods do, what happened, and what to do next.

The end names what your account cannot read.`,
		func(ctx context.Context, s *session, name string) error {
			if watch {
				return p.watch(ctx, s, name)
			}
			return p.tell(ctx, s, name, output, (*observed).print)
		})
	output.addFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "show it again after each change, until Ctrl-C")
	cmd.MarkFlagsMutuallyExclusive("watch", "output")
	return cmd
}

// watch shows the status whenever it changes, until ctx ends. On a terminal, each replaces the one before.
func (p *plugin) watch(ctx context.Context, s *session, name string) error {
	before := ""
	terminal, isTerminal := p.Out.(Terminal)
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		var screen bytes.Buffer
		o, err := s.observe(ctx, name)
		if err == nil {
			err = o.print(&screen)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case screen.String() != before && isTerminal:
			terminal.clear()
			if err := p.paint(screen.String(), stateColour); err != nil {
				return err
			}
		case screen.String() != before:
			fmt.Fprint(p.Out, screen.String()+"\n")
		}
		before = screen.String()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// print prints the screen.
func (o *observed) print(to io.Writer) error {
	status, spec := o.collector.Status, o.collector.Spec
	out := printers.GetNewTabWriter(to)
	row := func(name, format string, values ...any) { // a message of a webhook or a tenant's event can have lines of its own
		fmt.Fprintf(out, "%s\t%s\n", name, words(fmt.Sprintf(format, values...)))
	}
	row("Collector", "%s/%s, of tenant %s on cluster %s", o.collector.Namespace, o.collector.Name, spec.Tenant.Reference, spec.Cluster)
	row("Ready", "%s", o.state())
	row("Image", "%s", cmp.Or(o.images(), spec.Collector.Name+" "+status.Version+" (no pod seen)"))
	row("Configuration", "%s", o.configuration())
	row("Revision", "%s", revisionOf(o.collector))
	row("Pods", "%d of %d ready, mode %s", status.ReadyReplicas, status.Replicas, cmp.Or(string(spec.Mode), "deployment"))
	if change := o.change(); o.ready.Reason != v1alpha1.ReasonAvailable && change != "" {
		row("Change", "%s", change)
	}
	row("Check", "%s", o.check())
	if status.Canary != nil {
		row("Canary", "%s", describeCanary(o.collector, o.ready))
	}
	names := map[string]string{v1alpha1.UpdatePending: "Update", v1alpha1.PresetsReady: "Presets", v1alpha1.DataFlowing: "Data"}
	for _, condition := range explain.Doubts(o.collector.Status.Conditions) {
		row(names[condition.Type], "%s: %s", condition.Reason, condition.Message)
	}
	if tool := explain.Keeper(o.collector); tool != "" {
		row("Managed by", "%s", tool)
	}
	if len(o.pods) > 0 {
		fmt.Fprintln(out, "\nPOD\tREADY\tSTATE\tRESTARTS\tLAST EXIT\tNODE\tAGE")
	}
	for i := range o.pods {
		pod := &o.pods[i]
		ready, restarts := counts(pod)
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", pod.Name, ready, podState(pod), restarts, lastExit(pod),
			cmp.Or(pod.Spec.NodeName, "-"), ago(pod.CreationTimestamp.Time))
	}
	if len(o.events) > 0 {
		fmt.Fprintln(out, "\nLAST SEEN\tEVENT\tMESSAGE")
	}
	for i := range o.events[:min(len(o.events), maxEvents)] {
		event := &o.events[i]
		fmt.Fprintf(out, "%s\t%s\t%s\n", ago(lastSeen(event)), words(event.Reason), words(event.Message))
	}
	if err := out.Flush(); err != nil {
		return err //nolint:wrapcheck // of standard output
	}
	fmt.Fprintf(to, "\nNext: %s\n", o.next())
	if len(o.unseen) > 0 {
		fmt.Fprintf(to, "Your account may not read %s in namespace %s, so they are not shown.\n",
			strings.Join(o.unseen, " and "), o.collector.Namespace)
	}
	return nil
}

// configuration says which configuration is deployed, and whether another one is asked for.
func (o *observed) configuration() string {
	hash, config := o.collector.Status.ConfigHash, o.collector.Spec.Collector
	said := cmp.Or(short(hash), "none deployed")
	switch {
	case config.ConfigurationSecret != nil:
		said += fmt.Sprintf(", from key %s of Secret %s", config.ConfigurationSecret.Key, config.ConfigurationSecret.Name)
	case len(configurationIn(config)) > 0 && hashOf(configurationIn(config)) != hash:
		said += fmt.Sprintf("; the spec asks for %s, which is not deployed", short(hashOf(configurationIn(config))))
	}
	if files := len(config.Files); files > 0 {
		said += fmt.Sprintf("; further files: %d", files)
	}
	return said
}

// check says what the check of the last change says.
func (o *observed) check() string {
	if o.collector.Spec.Check == nil {
		return "none; with spec.check, the collector itself checks each change before pods get it"
	}
	if len(o.checks) > 0 { // there is one at a time
		job := &o.checks[0]
		for _, condition := range job.Status.Conditions {
			if condition.Status == corev1.ConditionTrue && (condition.Type == batchv1.JobFailed || condition.Type == batchv1.JobComplete) {
				return fmt.Sprintf("Job %s: %s %s", job.Name, condition.Type, condition.Reason)
			}
		}
		return "Job " + job.Name + " runs"
	}
	if o.ready.Reason == v1alpha1.ReasonConfigInvalid || o.ready.Reason == v1alpha1.ReasonCheckFailed {
		return "not accepted"
	}
	return "nothing to check"
}

// next says what to do next.
func (o *observed) next() string {
	if o.isDeleted() {
		return "Wait until it has gone."
	}
	if o.isBehind() {
		return "Wait. If it lasts, the operator does not run or does not watch this namespace."
	}
	if o.ready.Reason == explain.Unknown {
		advice, _ := o.unreconciled()
		return strings.ReplaceAll(advice, "\n", "\n      ")
	}
	found, err := explain.Reason(o.ready.Reason, o.collector.Namespace, o.collector.Name)
	if err != nil {
		return err.Error()
	}
	causes, err := o.causes()
	switch {
	case err != nil:
		return err.Error()
	case len(causes) > 0 && o.ready.Reason != v1alpha1.ReasonPaused: // nothing else helps while it is paused
		found.Action = causes[0].Action
	case found.Runbook == "":
		return found.Action
	}
	return strings.TrimSpace(fmt.Sprintf("%s\n      kubectl collector why %s -n %s", found.Action, o.collector.Name, o.collector.Namespace))
}

// counts returns how many of a pod's containers are ready, and how often they were restarted.
func counts(pod *corev1.Pod) (ready string, restarts int32) {
	n := 0
	for _, container := range pod.Status.ContainerStatuses {
		restarts += container.RestartCount
		if container.Ready {
			n++
		}
	}
	return fmt.Sprintf("%d/%d", n, len(pod.Spec.Containers)), restarts
}
