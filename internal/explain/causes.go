package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube8/kube8-operator/docs"
)

// Cause is what keeps a Collector from serving, by a row of docs/reference/causes.md.
type Cause struct {
	// Happened and Action are a sentence or two.
	Happened string `json:"happened"`
	Action   string `json:"action"`

	// Command shows more.
	Command string `json:"command"`

	words [][]string // one of these has all its words in the message
}

// Causes returns what messages about a Collector mean, each cause once, in the order of the messages. A semicolon separates what a message
// has of several causes.
func Causes(namespace, name string, messages ...string) ([]Cause, error) {
	known, err := causes()
	if err != nil {
		return nil, err
	}
	var found []Cause
	names := strings.NewReplacer("NAMESPACE", namespace, "NAME", name)
	seen := map[string]bool{}
	for part := range strings.SplitSeq(strings.Join(messages, "; "), "; ") {
		at := slices.IndexFunc(known, func(cause Cause) bool { return cause.isIn(part) })
		if at < 0 || seen[known[at].Happened] {
			continue
		}
		cause := known[at]
		seen[cause.Happened] = true
		cause.Command = names.Replace(cause.Command)
		found = append(found, cause)
	}
	return found, nil
}

func (c Cause) isIn(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(c.words, func(all []string) bool {
		return !slices.ContainsFunc(all, func(word string) bool { return !strings.Contains(message, word) })
	})
}

// causes reads the tables of docs/reference/causes.md.
func causes() (found []Cause, err error) {
	page, err := docs.Files.ReadFile("reference/causes.md")
	if err != nil {
		return nil, fmt.Errorf("read the documents: %w", err)
	}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 || !strings.HasPrefix(strings.TrimSpace(cells[0]), "`") {
			continue
		}
		cause := Cause{Happened: plain(cells[1]), Action: plain(cells[2]), Command: strings.Trim(strings.TrimSpace(cells[3]), "`")}
		for words := range strings.SplitSeq(cells[0], "` or `") {
			words = strings.ToLower(strings.Trim(strings.TrimSpace(words), "`"))
			cause.words = append(cause.words, strings.Split(words, "` `"))
		}
		found = append(found, cause)
	}
	return found, nil
}
