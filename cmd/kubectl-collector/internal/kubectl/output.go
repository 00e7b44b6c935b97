package kubectl

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
)

// account is what `status` and `why` tell to programs.
type account struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	// Current says that the operator has reconciled the last change.
	Current bool `json:"current"`

	Ready      v1alpha1.Condition   `json:"ready"`
	Conditions []v1alpha1.Condition `json:"conditions,omitempty"` // others that are not as they should be
	Causes     []explain.Cause      `json:"causes,omitempty"`
	Serving    string               `json:"serving,omitempty"`
	Change     string               `json:"change,omitempty"` // who brought the last one, and what it is
	Pods       []podAccount         `json:"pods,omitempty"`
	Unseen     []string             `json:"unseen,omitempty"` // what the account may not read
}

type podAccount struct {
	Name     string `json:"name"`
	Ready    string `json:"ready"`
	State    string `json:"state"`
	Restarts int32  `json:"restarts"`
	Node     string `json:"node,omitempty"`
}

func (o *observed) account() (account, error) {
	causes, err := o.causes()
	for i := range causes {
		causes[i].Command = o.command(causes[i].Command)
	}
	a := account{
		Namespace: o.collector.Namespace, Name: o.collector.Name, Ready: o.ready,
		Conditions: explain.Doubts(o.collector.Status.Conditions), Causes: causes, Unseen: o.unseen,
		Current: o.ready.Reason != explain.Unknown && !o.isBehind(), Serving: o.serving(), Change: o.change(),
	}
	for i := range o.pods {
		pod := &o.pods[i]
		ready, restarts := counts(pod)
		a.Pods = append(a.Pods, podAccount{pod.Name, ready, podState(pod), restarts, pod.Spec.NodeName})
	}
	return a, err
}

// format is how a command prints: json, yaml, or "" for people.
type format string

func (f *format) addFlag(flags *pflag.FlagSet) {
	flags.StringVarP((*string)(f), "output", "o", "", "json or yaml, for programs")
}

// isForPrograms tells whether it is json or yaml. Another one is an error.
func (f *format) isForPrograms() (bool, error) {
	switch *f {
	case "":
		return false, nil
	case "json", "yaml":
		return true, nil
	}
	return false, fmt.Errorf("--output: %q is neither json nor yaml", *f)
}

// writeAs prints a value for programs.
func (p *plugin) writeAs(f format, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err == nil && f == "yaml" {
		text, err = yaml.JSONToYAML(text)
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	if f == "json" {
		text = append(text, '\n')
	}
	_, err = p.Out.Write(text)
	return err //nolint:wrapcheck // of standard output
}
