package kubectl

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/cmd/kubectl-collector/internal/explain"
)

func (p *plugin) whyCommand() *cobra.Command {
	return p.about("why", "Explain why a Collector is not ready",
		`Explain why a Collector is not ready, what that means and what to do, in the words of
the operator's documents and runbooks.`,
		func(ctx context.Context, s *session, name string) error {
			o, err := s.observe(ctx, name)
			if err != nil {
				return err
			}
			return o.explain(p.Out)
		})
}

// explain prints why the Collector is not ready.
func (o *observed) explain(out io.Writer) error {
	name := o.collector.Namespace + "/" + o.collector.Name
	found, err := explain.Reason(o.ready.Reason, o.collector.Namespace, o.collector.Name)
	if err != nil {
		return err
	}
	switch {
	case o.ready.Reason == explain.Unknown:
		fmt.Fprintf(out, "The operator has not reconciled Collector %s yet.\n", name)
	case o.isBehind():
		fmt.Fprintf(out, "The operator has not reconciled the last change of Collector %s yet: its status is about generation %d, "+
			"and the Collector is at %d.\nBefore the change it said:\n", name, o.collector.Status.ObservedGeneration, o.collector.Generation)
	}
	if o.ready.Reason != explain.Unknown {
		fmt.Fprintf(out, "%s, for %s: %s\n", o.verdict(name), ago(o.ready.LastTransitionTime.Time), o.ready.Reason)
		paragraph(out, "", o.ready.Message)
		paragraph(out, "What it means", found.Meaning)
	}
	if o.ready.Reason != v1alpha1.ReasonAvailable {
		o.explainPods(out)
	}
	paragraph(out, "What to do", found.Action)
	if found.Runbook != "" {
		paragraph(out, "Look at", strings.Join(found.Commands, "\n"))
		paragraph(out, "From the runbook "+found.Runbook, found.Mitigation)
		fmt.Fprintf(out, "\n  %s\n", found.URL())
	}
	if len(o.unseen) > 0 {
		fmt.Fprintf(out, "\nYour account may not read %s in namespace %s, so this is what the Collector itself says.\n",
			strings.Join(o.unseen, " and "), o.collector.Namespace)
	}
	return nil
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
		if ready, _ := counts(pod); strings.HasPrefix(ready, "0/") {
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
