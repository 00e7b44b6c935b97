package docs

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxWords is how many words a sentence may have. A reader who did not grow up with English loses the thread of a longer one.
const maxWords = 30

// hard are patterns that such a reader stumbles over. Each names what to write in place of it.
var hard = []struct {
	pattern *regexp.Regexp // of a sentence without its code
	instead string
}{
	{regexp.MustCompile(`^(Who|Whom|Whose|Whoever|Whatever|What|Which)\b.*[.:]$`),
		`a subject that is a noun: "Anyone who can create Collectors controls the namespace"`},
	{regexp.MustCompile(`[;,] (who|what|whoever|whatever) (\w+ ){0,6}(is|are|has|have|gets?|may|can|must|needs?|goes|keeps?|makes?)\b`),
		`a new sentence, with a noun as its subject`},
	{regexp.MustCompile(`(?i)\b(of|for|to|by|with|in|from|on|at) (which|whom|whose)\b`), `a new sentence: "It has …"`},
	{regexp.MustCompile(`(?i)\b(for|to|by|of|with|from) who\b`), `"for people who" or "for anyone who"`},
	{regexp.MustCompile(`(?i)\bbut for\b`), `"except"`},
	{regexp.MustCompile(`(?i)\b(nobody|nothing|no \w+|none) but\b`), `"only"`},
	{regexp.MustCompile(`(?i)^(all|everything) else\b.* the operator\b`), `subject, verb, object: "The operator recreates everything else"`},
	{regexp.MustCompile(`^(One|Ones|That|Those) (that|who|which|of|with)\b`), `the noun: "An invalid configuration is never deployed"`},
	{regexp.MustCompile(`(?i)\b(is|are|was|were|be) (to be|yet to|not to be)\b`), `"must", "can" or "has not yet"`},
	{regexp.MustCompile(`(?i)\b(all|what) that there (is|are)\b|\bthere (is|are) to \w+`), `what exists, in plain words`},
	{regexp.MustCompile(`(?i)\b(belongs?|belonging) to (nobody|somebody else)\b`), `"has no owner" or "has another owner"`},
	{regexp.MustCompile(`^(Neither|Nor|Not only|Never|Only (then|when|after|where|if))\b`), `subject before verb`},
	{regexp.MustCompile(`(?i)\bas (long|much|many) as (the|it|they) \w+ has\b`), `a time or a number`},
	{regexp.MustCompile(`(?i)\b(thereof|whereof|thereby|whereby|therein|wherein|hereby|herein|thereafter)\b`), `"by that", "in that" or "after that", with its noun`},
	{regexp.MustCompile(`^(Of|In|On|By|From|Beside|Beyond|Behind|Under) [^,]*\b(is|are|comes?|goes|go|stands?) (the|a|an|its|their|what|one|those|that|all|no)\b`), `subject before verb`},
	{regexp.MustCompile(`(?i)[,;] (and )?so (is|are|does|do|has|have|can) |, be it\b|^So (is|are|does|do) `), `what it is or does, in full`},
	{regexp.MustCompile(`(?i)\b(nobody|somebody|someone|whoever|whatever)\b`), `the noun: "a user", "another client" or "no Collector"`},
	{regexp.MustCompile(`(?i)\b(shall|ought)\b`), `"must", "should" or "will"`},
}

// prose returns the sentences of a page, by the lines on which their paragraphs, list items and cells begin.
func prose(content string) map[int][]string {
	found := map[int][]string{}
	var words string
	begin, inBlock := 0, false
	end := func() {
		if said := sentences(words); len(said) > 0 {
			found[begin] = append(found[begin], said...)
		}
		words = ""
	}
	for i, line := range strings.Split(content, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence.MatchString(line):
			end()
			inBlock = !inBlock
		case inBlock:
		case trimmed == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "<"):
			end()
		case strings.HasPrefix(trimmed, "|"):
			end()
			begin = i + 1
			for cell := range strings.SplitSeq(strings.Trim(strings.ReplaceAll(trimmed, `\|`, "/"), "|"), " | ") {
				words = cell
				end()
			}
		default:
			if item.MatchString(trimmed) || words == "" {
				end()
				begin = i + 1
			}
			words += " " + item.ReplaceAllString(trimmed, "")
		}
	}
	end()
	return found
}

var (
	item     = regexp.MustCompile(`^([-*]|\d+\.) `)
	anyLink  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	boundary = regexp.MustCompile(`[.?!:]["')*_]* +`)
)

// sentences splits text, in which code is one word.
func sentences(text string) []string {
	text = anyLink.ReplaceAllString(text, "$1")
	text = codeSpan.ReplaceAllString(text, "CODE")
	text = strings.NewReplacer("**", "", "*", "", "e.g. ", "for example ", "i.e. ", "that is ").Replace(text)
	var found []string
	start := 0
	for _, at := range boundary.FindAllStringIndex(text, -1) {
		found = append(found, strings.TrimSpace(text[start:at[1]]))
		start = at[1]
	}
	if rest := strings.TrimSpace(text[start:]); rest != "" {
		found = append(found, rest)
	}
	return found
}

// faults returns why a sentence is hard to read.
func faults(sentence string) []string {
	var found []string
	if words := len(strings.Fields(sentence)); words > maxWords {
		found = append(found, fmt.Sprintf("%d words; write %d at most", words, maxWords))
	}
	for _, rule := range hard {
		if match := rule.pattern.FindString(sentence); match != "" {
			found = append(found, fmt.Sprintf("%q; write %s", match, rule.instead))
		}
	}
	return found
}

func TestTheEnglishIsPlain(t *testing.T) {
	pages := pages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		checkProse(t, page, 1, pages[page])
	}
}

func TestTheEnglishOfCommentsIsPlain(t *testing.T) {
	for _, folder := range []string{"cmd", "internal", "api/v1alpha1", "helm-charts", "tools", "examples"} {
		err := filepath.WalkDir("../../"+folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			files := token.NewFileSet()
			parsed, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, comment := range parsed.Comments {
				checkProse(t, path, files.Position(comment.Pos()).Line, marker.ReplaceAllString(comment.Text(), ""))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// marker is a line that controller-gen reads.
var marker = regexp.MustCompile(`(?m)^\+.*$`)

// checkProse fails for each sentence of a text that is hard to read. The text begins in line begin of the file.
func checkProse(t *testing.T, file string, begin int, text string) {
	t.Helper()
	byLine := prose(text)
	for _, line := range slices.Sorted(maps.Keys(byLine)) {
		for _, sentence := range byLine[line] {
			for _, fault := range faults(sentence) {
				t.Errorf("%s:%d: %s\n\t%s", file, begin+line-1, fault, sentence)
			}
		}
	}
}

func TestFaults(t *testing.T) {
	for sentence, faulty := range map[string]bool{
		"Anyone who can create Collectors controls the namespace.":       false,
		"Who may create Collectors has the namespace.":                   true,
		"An invalid configuration is never deployed.":                    false,
		"One that cannot be right is not deployed.":                      true,
		"The operator recreates everything else.":                        false,
		"All else the operator makes again.":                             true,
		"The operator ignores objects that have another owner.":          false,
		"It belongs to somebody else.":                                   true,
		"Runbooks are for people who are called.":                        false,
		"A page for who is called.":                                      true,
		"The label selects Secrets of which nothing is known.":           true,
		"All pods serve but for one.":                                    true,
		"Who reads this?":                                                false,
		strings.Repeat("word ", maxWords) + "end.":                       true,
		strings.Repeat("word ", maxWords-1) + "`kubectl get all`" + ".":  false,
		"Only when the pod is gone does the operator delete the Secret.": true,
	} {
		for _, s := range sentences(sentence) {
			if got := faults(s); (len(got) > 0) != faulty {
				t.Errorf("%q: found %q", sentence, got)
			}
		}
	}
	page := "# A\n\nOne. Two\ngoes on.\n\n- item\n  too\n\n```sh\nnot this\n```\n| a | b c |\n"
	got := fmt.Sprint(prose(page))
	if want := "map[3:[One. Two goes on.] 6:[item too] 12:[a b c]]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
