// Package explain says what the reasons of a Collector's condition Ready mean and what to do about them. It takes that from
// docs/reference/conditions.md and from the runbooks, so that each fact is written once.
package explain

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube8/kube8-operator/api/v1alpha1"
	"github.com/kube8/kube8-operator/docs"
	"github.com/kube8/kube8-operator/internal/cache"
)

// Unknown is the reason of a Collector that the operator has not reconciled yet. It has no condition Ready.
const Unknown = "Unknown"

// runbooks are the runbooks that help with a reason.
var runbooks = map[string]string{
	v1alpha1.ReasonProgressing:   "Kube8CollectorNotReady",
	v1alpha1.ReasonPodsNotReady:  "Kube8CollectorNotReady",
	v1alpha1.ReasonConflict:      "Kube8CollectorNotReady",
	v1alpha1.ReasonCheckFailed:   "Kube8CollectorNotReady",
	v1alpha1.ReasonRolledBack:    "Kube8CanaryFailed",
	v1alpha1.ReasonCanaryPaused:  "Kube8CanaryFailed",
	v1alpha1.ReasonConfigInvalid: "Kube8ConfigRejected",
	v1alpha1.ReasonConfigMissing: "Kube8ConfigRejected",
	v1alpha1.ReasonReleaseFailed: "Kube8ReleasesFailing",
	Unknown:                      "Kube8OperatorDown",
}

// Explanation is what the documents say of a reason.
type Explanation struct {
	// Meaning and Action are a sentence or two. Both are empty for Unknown.
	Meaning, Action string

	// Runbook is the name of the runbook. Empty means that there is none, because nothing has to be mended.
	Runbook string

	// Commands are those of the runbook, with the Collector's namespace and name in them.
	Commands []string

	// Mitigation is that section of the runbook, as plain text.
	Mitigation string
}

// URL is where people read the runbook.
func (e Explanation) URL() string {
	return "https://github.com/kube8/kube8-operator/blob/main/docs/runbooks/" + e.Runbook + ".md"
}

// Reason returns what the documents say of a reason, about the Collector of that namespace and name.
func Reason(reason, namespace, name string) (Explanation, error) {
	found := Explanation{Runbook: runbooks[reason]}
	names := strings.NewReplacer("NAMESPACE", namespace, "NAME", name)
	if reason != Unknown {
		page, err := docs.Files.ReadFile("reference/conditions.md")
		if err != nil {
			return found, fmt.Errorf("read the documents: %w", err)
		}
		if found.Meaning, found.Action, err = row(section(string(page), "Reasons of Ready"), reason); err != nil {
			return found, err
		}
		found.Action = names.Replace(found.Action)
	}
	if found.Runbook == "" {
		return found, nil
	}
	page, err := docs.Files.ReadFile(path.Join("runbooks", found.Runbook+".md"))
	if err != nil {
		return found, fmt.Errorf("read the runbook: %w", err)
	}
	for line := range strings.Lines(section(string(page), "Diagnosis")) {
		if command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ "); ok {
			found.Commands = append(found.Commands, names.Replace(command))
		}
	}
	found.Mitigation = plain(names.Replace(ofReason(section(string(page), "Mitigation"), reason)))
	return found, nil
}

// Doubts returns the conditions beside Ready that are not as they should be.
func Doubts(conditions []v1alpha1.Condition) (found []v1alpha1.Condition) {
	for _, condition := range conditions {
		isPending := condition.Type == v1alpha1.UpdatePending && condition.Status == corev1.ConditionTrue
		isMissing := condition.Type == v1alpha1.PresetsReady && condition.Status != corev1.ConditionTrue
		isInDoubt := condition.Type == v1alpha1.DataFlowing && condition.Reason != v1alpha1.ReasonFlowing
		if isPending || isMissing || isInDoubt {
			found = append(found, condition)
		}
	}
	return found
}

// IsServing tells whether a pod is ready, and stays. Its containers can be ready while its node does not report.
func IsServing(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && cache.IsReady(pod)
}

// item begins an item of a list that is about some reasons only.
var item = regexp.MustCompile("^- (?:`[A-Z][A-Za-z]+`(?:,| and)? ?)+:")

// ofReason returns a section without the items that are about other reasons.
func ofReason(section, reason string) string {
	var kept strings.Builder
	isAbout := true
	for line := range strings.Lines(section) {
		if about := item.FindString(line); about != "" {
			isAbout = strings.Contains(about, "`"+reason+"`")
		} else if !strings.HasPrefix(line, "  ") {
			isAbout = true
		}
		if isAbout {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// section returns what is between a heading of a page and the next one.
func section(page, heading string) string {
	_, rest, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ := strings.Cut(rest, "\n## ")
	return strings.TrimSpace(text)
}

// row returns the second and the third cell of the table's row that begins with a reason.
func row(table, reason string) (meaning, action string, err error) {
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) == 3 && strings.TrimSpace(cells[0]) == "`"+reason+"`" {
			return plain(cells[1]), plain(cells[2]), nil
		}
	}
	return "", "", fmt.Errorf("this version of the plugin does not know the reason %s; "+
		"read docs/reference/conditions.md of the operator's version", reason)
}

var link = regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`)

// plain returns Markdown as text for a terminal: a link within the documents is its text, and another one has its address too.
func plain(markdown string) string {
	return strings.TrimSpace(link.ReplaceAllStringFunc(markdown, func(found string) string {
		parts := link.FindStringSubmatch(found)
		if strings.HasPrefix(parts[2], "https://") {
			return parts[1] + " (" + parts[2] + ")"
		}
		return parts[1]
	}))
}
