package docs

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostWords is how many words a reader may have to find a thing in.
const mostWords = 18000

// byHand is what is left of a page without what commands write: the whole page, a table between two marks, and blocks of code. A code span
// and the target of a link are one word with what they belong to.
var byHand = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?s)^# [^\n]*\n\n<!-- This page is written by.*`), ""},
	{regexp.MustCompile("(?s)<!-- (?:The table is )?written by.*?<!-- (?:end|written by)[^\n]*"), ""},
	{codeBlock, ""},
	{codeSpan, "code"},
	{regexp.MustCompile(`\]\([^)]*\)`), "]"},
}

func TestTheDocumentationIsShort(t *testing.T) {
	pages, all := pages(t), 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		text := pages[page]
		for _, rule := range byHand {
			text = rule.pattern.ReplaceAllString(text, rule.instead)
		}
		words := 0
		for word := range strings.FieldsSeq(text) {
			if strings.ContainsFunc(word, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' }) {
				words++
			}
		}
		t.Logf("%6d %s", words, page)
		all += words
	}
	t.Logf("%6d in all, of %d at most", all, mostWords)
	if all > mostWords || all < 5000 {
		t.Errorf("the pages have %d words; keep them to %d", all, mostWords)
	}
}
