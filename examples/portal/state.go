package main

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/internal/explain"
	"github.com/kube8/kube8-operator/internal/managedfields"
)

// The states that the list counts.
const (
	isReady    = "Ready"
	isNotReady = "Not ready"
	isChanging = "Changing"
	isPaused   = "Paused"
)

const (
	// deleting is the reason of a Collector that is being deleted. Its conditions can be from before.
	deleting = "Deleting"

	// unobserved is what the pages say of a Collector whose last change the operator has not seen.
	unobserved = "The operator has not reconciled the last change yet."

	// shortest is how many letters the list has of a message whose cause is not known.
	shortest = 120
)

// changing are the reasons of Ready while a change is on its way. It has none before the operator has seen the change.
var changing = []string{"", deleting, v1alpha1.ReasonProgressing, v1alpha1.ReasonChecking, v1alpha1.ReasonProving}

// stateOf sorts a Collector into one of the states.
func stateOf(s *shown) string {
	switch {
	case s.Ready == string(corev1.ConditionTrue):
		return isReady
	case s.Reason == v1alpha1.ReasonPaused:
		return isPaused
	case slices.Contains(changing, s.Reason):
		return isChanging
	}
	return isNotReady
}

// written is when a client last wrote a Collector. The operator writes a finalizer, which is no change.
func written(c *v1alpha1.Collector) time.Time {
	last := c.CreationTimestamp.Time
	for _, entry := range c.ManagedFields {
		if entry.Subresource == "" && entry.Time != nil && !managedfields.IsOfOperator(entry) && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// obstacles returns the messages that say what keeps a Collector from serving, or its data from flowing.
func obstacles(c *v1alpha1.Collector, s *shown) []string {
	if s.Reason == "" {
		return nil
	}
	messages := []string{s.Message}
	for _, condition := range explain.Doubts(c.Status.Conditions) {
		messages = append(messages, condition.Message)
	}
	return messages
}

// causeOf returns one short cause: the first that the documents know or, if they know none, the beginning of the message.
func causeOf(c *v1alpha1.Collector, s *shown) string {
	if s.Reason == "" {
		return unobserved
	}
	known, err := explain.Causes(c.Namespace, c.Name, obstacles(c, s)...)
	if err == nil && len(known) > 0 {
		first, _, isMore := strings.Cut(strings.ReplaceAll(known[0].Happened, "`", ""), ". ")
		if isMore {
			first += "."
		}
		return first
	}
	if s.State == isReady {
		return ""
	}
	letters := []rune(s.Message)
	if len(letters) > shortest {
		return string(letters[:shortest]) + "…"
	}
	return s.Message
}

// flow says whether a Collector receives and sends data. Means is what the condition DataFlowing says.
type flow struct {
	Received, Sent, Means, Reason string
	Since                         time.Time
}

// flows are what the reasons of the condition DataFlowing say of both ways.
var flows = map[string]flow{
	v1alpha1.ReasonFlowing:       {Received: "yes", Sent: "yes"},
	v1alpha1.ReasonQueueFilling:  {Received: "yes", Sent: "yes, and more waits"},
	v1alpha1.ReasonExportFails:   {Received: "not known", Sent: "no"},
	v1alpha1.ReasonAllDropped:    {Received: "yes", Sent: "no"},
	v1alpha1.ReasonPartlyDropped: {Received: "yes", Sent: "in part"},
	v1alpha1.ReasonRefusing:      {Received: "no, mostly refused", Sent: "not known"},
	v1alpha1.ReasonNoTraffic:     {Received: "no", Sent: "no"},
}

// flowOf returns whether data flows, or nil if the spec does not ask.
func flowOf(c *v1alpha1.Collector) *flow {
	if c.Spec.Flow == nil {
		return nil
	}
	at := slices.IndexFunc(c.Status.Conditions, func(is v1alpha1.Condition) bool { return is.Type == v1alpha1.DataFlowing })
	if at < 0 {
		return &flow{Received: "not known", Sent: "not known", Means: "The operator has not read the metrics of the pods yet"}
	}
	condition := c.Status.Conditions[at]
	is, isKnown := flows[condition.Reason]
	if !isKnown { // there are no metrics, or the operator is newer
		is = flow{Received: "not known", Sent: "not known"}
	}
	is.Means, is.Reason, is.Since = condition.Message, condition.Reason, condition.LastTransitionTime.Time
	return &is
}
