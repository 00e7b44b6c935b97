package kubectl

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
	"github.com/kube8/kube8-operator/internal/vendors"
)

func (p *plugin) whyCommand() *cobra.Command {
	var output format
	cmd := p.about("why", "Explain why a Collector is not ready",
		`Explain why a Collector is not ready, what that means and what to do, in the words of
the operator's documents and runbooks.`,
		func(ctx context.Context, s *session, name string) error {
			return p.tell(ctx, s, name, output, (*observed).explain)
		})
	output.addFlag(cmd.Flags())
	return cmd
}

// tell prints what is observed of a Collector, for people or for programs.
func (p *plugin) tell(ctx context.Context, s *session, name string, output format, show func(*observed, io.Writer) error) error {
	forPrograms, err := output.isForPrograms()
	if err != nil {
		return err
	}
	o, err := s.observe(ctx, name)
	if err != nil {
		return err
	}
	s.addLogged(ctx, o)
	if o.ready.Reason != v1alpha1.ReasonAvailable {
		o.revisions, _ = s.revisions(ctx, o.collector) // without the rights for it, the status says less
	}
	if !forPrograms {
		var screen strings.Builder
		if err := show(o, &screen); err != nil {
			return err
		}
		return p.paint(screen.String(), stateColour)
	}
	account, err := o.account()
	if err != nil {
		return err
	}
	return p.writeAs(output, account)
}

// logTime is how long why waits for a log: the kubelet of a node that is gone does not answer.
const logTime = 5 * time.Second

// addLogged notes what is known of the log of the newest pod whose collector ended. The note has none of the log's words.
func (s *session) addLogged(ctx context.Context, o *observed) {
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	for i := range o.pods {
		for _, container := range o.pods[i].Status.ContainerStatuses {
			last, now := container.LastTerminationState.Terminated, container.State.Terminated
			if container.Name != "collector" || container.Ready || last == nil && now == nil {
				continue
			}
			text, err := s.endOfLog(ctx, o.pods[i].Name, now == nil)
			if err == nil {
				o.logged = vendors.InLog(container.Image, text)
			}
			return
		}
	}
}

// explain prints why the Collector is not ready.
func (o *observed) explain(out io.Writer) error {
	name := o.collector.Namespace + "/" + o.collector.Name
	found, err := explain.Reason(o.ready.Reason, o.collector.Namespace, o.collector.Name)
	if err != nil {
		return err
	}
	switch {
	case o.isDeleted():
		fmt.Fprintf(out, "Collector %s is being deleted: %s.\n", name, o.terminating())
		if o.collector.Status.ObservedGeneration < o.collector.Generation {
			return nil // what the conditions say is from before the deletion
		}
	case o.ready.Reason == explain.Unknown:
		fmt.Fprintf(out, "The state of Collector %s is unknown, %s after its creation: %s.\n",
			name, ago(o.collector.CreationTimestamp.Time), o.ready.Message)
		advice, commands := o.unreconciled()
		paragraph(out, "What to do", advice)
		paragraph(out, "Look at", o.command(commands...))
		return nil
	case o.isBehind():
		fmt.Fprintf(out, "The operator has not reconciled the last change of Collector %s yet: its status is about generation %d, "+
			"and the Collector is at %d.\nBefore the change it said:\n", name, o.collector.Status.ObservedGeneration, o.collector.Generation)
	}
	causes, err := o.causes()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, for %s: %s\n", o.verdict(name), ago(o.ready.LastTransitionTime.Time), o.ready.Reason)
	paragraph(out, "", o.ready.Message)
	if o.ready.Reason == v1alpha1.ReasonAvailable {
		paragraph(out, "What it means", found.Meaning)
	} else {
		if len(causes) == 0 { // a cause says more, and can be another one than the reason mostly has
			paragraph(out, "What it means", found.Meaning)
		}
		paragraph(out, "What serves meanwhile", o.serving())
		paragraph(out, "Who brought the change", o.change())
		o.explainPods(out)
		paragraph(out, "The log has", o.logged)
	}
	o.explainConditions(out)
	if o.ready.Reason == v1alpha1.ReasonPaused {
		paragraph(out, "What to do first", found.Action)
	}
	for _, cause := range causes {
		paragraph(out, "What happened", cause.Happened)
		paragraph(out, "What to do", cause.Action)
		paragraph(out, "Look at", o.command(cause.Command))
	}
	if len(causes) == 0 && o.ready.Reason != v1alpha1.ReasonPaused {
		paragraph(out, "What to do", found.Action)
		if found.Runbook != "" {
			paragraph(out, "Look at", o.command(found.Commands...))
			paragraph(out, "From the runbook "+found.Runbook, found.Mitigation)
		}
	}
	if found.Runbook != "" {
		fmt.Fprintf(out, "\n  %s\n", found.URL())
	}
	if len(o.unseen) > 0 {
		fmt.Fprintf(out, "\nYour account may not read %s in namespace %s, so this is what the Collector itself says.\n",
			strings.Join(o.unseen, " and "), o.collector.Namespace)
	}
	return nil
}

// explainConditions prints what the other conditions say that is not as it should be.
func (o *observed) explainConditions(out io.Writer) {
	for _, condition := range explain.Doubts(o.collector.Status.Conditions) {
		since := ago(condition.LastTransitionTime.Time)
		paragraph(out, fmt.Sprintf("%s is %s, for %s: %s", condition.Type, condition.Status, since, condition.Reason), condition.Message)
		if condition.Type == v1alpha1.UpdatePending {
			paragraph(out, "Who brings that change, and what it waits for", o.waits(condition.Reason))
		}
	}
}

// waits says whose change waits to be deployed, and for what.
func (o *observed) waits(reason string) string {
	said := "The platform: another version of the operator"
	if bases := o.collector.Status.Bases; len(bases) > 0 {
		said += ", or another version of a base. Deployed are " + strings.Join(bases, ", ")
	}
	switch reason {
	case v1alpha1.ReasonLeftOut:
		return said + ".\nIt waits until the label is removed."
	case v1alpha1.ReasonRefused, v1alpha1.ReasonBaseRefused:
		return said + ".\nThe platform team has to correct it. What is deployed serves on."
	}
	said += ".\nIt waits until the Collectors of lower rings, and those before this one in its ring, are ready with it."
	const command = "kubectl collector rollout status"
	if o.may == nil || o.may(command) {
		return said + " To see which these are: " + command
	}
	return said + " The platform team can see which these are."
}

// unreconciled says what to do about a Collector that no operator has reconciled, and what to look at.
func (o *observed) unreconciled() (advice string, commands []string) {
	if time.Since(o.collector.CreationTimestamp.Time) < awaited {
		return "Wait: an operator reconciles a new Collector within seconds.", nil
	}
	found, err := explain.Reason(explain.Unknown, o.collector.Namespace, o.collector.Name)
	if err != nil {
		return err.Error(), nil
	}
	return fmt.Sprintf("If that lasts, no operator runs, or none watches namespace %s. "+
		"Ask the platform team, which has a runbook for that:\n%s",
		o.collector.Namespace, found.URL()), found.Commands
}

// command returns the first of some commands that the account may run. It may run `status`: that reads what was read here.
func (o *observed) command(commands ...string) string {
	for _, command := range commands {
		if o.may == nil || o.may(command) {
			return command
		}
	}
	return fmt.Sprintf("kubectl collector status %s -n %s --watch", o.collector.Name, o.collector.Namespace)
}

// causes returns what keeps the Collector, or a part of it, from serving.
func (o *observed) causes() ([]explain.Cause, error) {
	messages := []string{o.logged, o.ofPresentPods(o.ready.Message)}
	for _, condition := range explain.Doubts(o.collector.Status.Conditions) {
		messages = append(messages, condition.Message)
	}
	messages = append(messages, o.troubles...)
	return explain.Causes(o.collector.Namespace, o.collector.Name, messages...)
}

// ofPresentPods returns a message without what it says of pods that are gone: the status can be older than the list of pods. A message
// about the pods of a check or of a canary stays whole, because they go when they have failed.
func (o *observed) ofPresentPods(message string) string {
	isOfServing := slices.Contains([]string{v1alpha1.ReasonPodsNotReady, v1alpha1.ReasonProgressing}, o.ready.Reason)
	if !isOfServing || slices.Contains(o.unseen, "pods") {
		return message
	}
	parts := slices.DeleteFunc(strings.Split(message, "; "), func(part string) bool {
		of, _, _ := strings.Cut(part, ": ")
		name, isOfPod := strings.CutPrefix(of, "pod ")
		return isOfPod && !slices.ContainsFunc(o.pods, func(pod corev1.Pod) bool { return pod.Name == name })
	})
	return strings.Join(parts, "; ")
}

func (o *observed) verdict(name string) string {
	switch {
	case o.ready.Status == "True":
		return "Collector " + name + " is ready"
	case o.ready.Reason == v1alpha1.ReasonPaused:
		return "Collector " + name + " is paused"
	}
	return "Collector " + name + " is not ready"
}

// explainPods prints what keeps pods from serving.
func (o *observed) explainPods(out io.Writer) {
	var lines []string
	for i := range o.pods {
		pod := &o.pods[i]
		if pod.DeletionTimestamp == nil && !explain.IsServing(pod) {
			lines = append(lines, fmt.Sprintf("%s is %s; its last exit: %s", pod.Name, podState(pod), lastExit(pod)))
		}
	}
	paragraph(out, "Pods that do not serve", strings.Join(lines, "\n"))
}

// paragraph prints a text below a title, indented. It prints nothing for no text.
func paragraph(out io.Writer, title, text string) {
	if text == "" {
		return
	}
	if title != "" {
		fmt.Fprintf(out, "\n%s\n", title)
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(out, strings.TrimRight("  "+line, " "))
	}
}
