package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// pages returns the Markdown files of the repository, by their paths from its root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata"}, entry.Name()):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(filepath.ToSlash(path), root+"/")] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	codeBlock = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```\\s*$")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	external  = regexp.MustCompile(`^[a-z]+:`)
	target    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noSlug    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors returns what a link to a heading of a page can name, as GitHub makes it of the heading's text.
func anchors(content string) map[string]bool {
	found := map[string]bool{}
	for _, match := range target.FindAllStringSubmatch(codeBlock.ReplaceAllString(content, ""), -1) {
		slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(match[1]), ""), " ", "-")
		name := slug
		for i := 1; found[name]; i++ {
			name = slug + "-" + strconv.Itoa(i)
		}
		found[name] = true
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	pages := pages(t)
	links := 0
	for page, content := range pages {
		text := codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(content, ""), "")
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			if external.MatchString(match[1]) {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(match[1], "#")
			file := page
			if path != "" {
				file = filepath.ToSlash(filepath.Join(filepath.Dir(page), path))
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
			} else if other, ok := pages[file]; anchor != "" && (!ok || !anchors(other)[anchor]) {
				t.Errorf("%s links to %s, but %s has no such heading", page, match[1], file)
			}
		}
	}
	if links < 10 {
		t.Errorf("found only %d links: the test no longer sees them", links)
	}
}

func TestTheIndexListsEveryPage(t *testing.T) {
	pages := pages(t)
	for page := range pages {
		path, isDoc := strings.CutPrefix(page, "docs/")
		if !isDoc || path == "README.md" {
			continue
		}
		if strings.HasPrefix(path, "runbooks/") {
			path = "runbooks"
		}
		if !strings.Contains(pages["docs/README.md"], "("+path+")") {
			t.Errorf("docs/README.md has no link to %s", path)
		}
	}
	if lines := strings.Count(pages["README.md"], "\n"); lines > 120 || !strings.Contains(pages["README.md"], "(docs/README.md)") {
		t.Errorf("README.md has %d lines, or no link to docs/README.md; keep it to 120", lines)
	}
}

func TestArchitectureNamesEveryPackage(t *testing.T) {
	architecture := pages(t)["docs/explanation/architecture.md"]
	packages, err := os.ReadDir(filepath.Join(root, "internal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		if name := p.Name(); !strings.Contains(architecture, "`"+name+"`") && !strings.Contains(architecture, "`internal/"+name+"`") {
			t.Errorf("docs/explanation/architecture.md does not say what internal/%s is for", name)
		}
	}
}

func TestCommands(t *testing.T) {
	for _, test := range []struct {
		name, page string
		want       []string
	}{
		{"a page without commands", "# A\n\ntext\n", nil},
		{"what follows the prompt of a console, without what was printed", "```console\n$ make demo\nup\n```\n", []string{"make demo"}},
		{"a sh block as a whole", "```sh\n# why\ncat <<END\n  a\nEND\n```\n", []string{"# why\ncat <<END\n  a\nEND\n"}},
		{"a line that goes on", "```console\n$ kubectl get \\\n    pods\ndone\n```\n", []string{"kubectl get pods"}},
		{"commands in the text, but not names", "`make` runs `make test`, `kubectl get x \\| wc`, `spec.mode`.\n", []string{"make test", "kubectl get x | wc"}},
		{"no other block", "```yaml\nmake: test\n```\n```\nmake test\n```\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, command := range Commands("page.md", test.page) {
				got = append(got, command.Text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
