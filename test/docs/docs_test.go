package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere says what runs the commands that no test runs as they stand, by how they begin.
var elsewhere = []struct {
	command string // a regular expression for its beginning
	test    string // that does the same in another form; or
	why     string // nothing here can
}{
	{command: `make chaos`, test: "TestChaosTheOperatorIsKilledAtAnyMoment"},
	{command: `make tenants`, test: "TestTenantsWithHostileCollectorsKeepNobodyWaiting"},
	{command: `make simulate`, test: "TestSimulation"},
	{command: `make walk`, test: "TestWalkOfEachField"},
	{command: `make soak`, test: "TestDisturbancesAreNoChangeOfAFlow"},
	{command: `make weight`, why: "it counts, and demands nothing"},
	{command: `kubectl delete collector --cascade=orphan`, test: "TestACollectorThatIsDeletedWithoutItsObjectsLeavesThem"},
	{command: `kubectl collector delete .*--without-operator.*`, test: "TestThePluginSaysThatNoOperatorReconcilesADeletionAndCanFinishIt"},
	{command: `kubectl collector (promote|abort) .*`, test: "TestAChangeThatCrashesGoesBackAndIsDeployedWhenItIsPromoted"},
	{command: `kubectl collector resume NAME .*`, test: "TestThePluginPausesAndResumes"},
	{command: `make bench`, why: "it measures for many minutes"},
	{command: `go test .* -bench .*`, why: "it measures, and demands nothing"},
	{command: `bin/bench -report`, test: "TestReportReplacesWhatIsBetweenTheMarks"},
	{command: `make docker-build docker-push catalog bundle-build`, test: "TestOLM"},
	{command: `make undeploy-olm`, test: "TestOLM"},
	{command: `kubectl apply --server-side -k config/namespaced`, test: "TestTheNamespacedInstallServesItsNamespacesAndNoOther"},
	{command: `go run golang.org/x/vuln/cmd/govulncheck@\S+ .*`, why: "it reads a database that changes"},
	{command: `(cosign|gh attestation) verify.*|sha256sum --check checksums.txt`, why: "it needs a release that was published"},
	{command: `kubectl apply --server-side -f https://github.com/kube8/kube8-operator/releases/\S+`, why: "it needs a release that was published"},
	{command: `git clone --branch v0.1.0 .*|cd kube8-operator|diff dist/checksums.txt \S+`, test: "TestTheSameCommitGivesTheSameRelease"},
	{command: `mkdir image|tar -xf \S+ -C image|crane push .*|cat >kustomization.yaml <<EOF|kubectl apply --server-side -k \.`, why: "it needs a registry"},
	{command: `git tag -a .*|git push origin .*`, why: "it publishes a release"},
	{command: `curl .* ?localhost:8080/collectors/tenant-acme.*`, test: "TestThePortalMakesCollectors"},
	{command: `go -C examples/portal run \.( --help)?`, test: "TestTheStreamTellsAsItHappens"},
	{command: `cd examples/portal|go build -o bin/portal \.|docker build -f Dockerfile -t kube8.dev/portal:v0 bin`, test: "TestThePortalMakesCollectors"},
	{command: `kubectl (apply -k deploy|port-forward -n tenant-acme service/portal 8080:80)`, test: "TestThePortalMakesCollectors"},
	{command: `helm uninstall otel -n tenant-acme`, why: "the release is of a chart that nothing here downloads"},
	{command: `helm (install|upgrade) kube8-operator .*`, test: "TestHelmInstallsUpgradesAndRemovesTheOperator"},
	{command: `helm test kube8-operator .*`, test: "TestHelmTestSaysWhetherAnOperatorIsAtWork"},
	{command: `kubectl delete collectors.kube8.dev --all --all-namespaces`, why: "no test deletes what may be somebody else's"},
}

// sources are the texts in which the check looks for what runs a command.
type sources struct {
	tests    string // all Go tests
	commands string // what CI runs
	makefile string
}

func readSources(t *testing.T) sources {
	t.Helper()
	var s sources
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content) + "\n"
	}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, entry.Name()):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			s.tests += read(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	workflows, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(workflows, filepath.Join(root, ".ci/run")) {
		s.commands += read(file)
	}
	s.makefile = read(filepath.Join(root, "Makefile"))
	return s
}

var (
	makeInCI   = regexp.MustCompile(`\bmake ([^\n&|;']+)`)
	makeInTest = regexp.MustCompile(`(?:makeTarget\(\S+, |"make"[^)\n]*, )"([a-z0-9-]+)"`)
	rule       = regexp.MustCompile(`(?m)^([a-z0-9-]+):([^=\n#]*)`)
	word       = regexp.MustCompile(`[a-z0-9][a-z0-9-]*`)
	scripted   = regexp.MustCompile(`\bScript\((?:filepath\.Join\(root, )?"([^"]+)"\)?, "([^"]+)"\)`)
	blocks     = regexp.MustCompile(`\bBlocks\("([^"]+)"\)`)
	followed   = regexp.MustCompile(`\bFollow\(t, "([^"]+)"`)
	assignment = regexp.MustCompile(`^\w+=\S*(\s+|$)`)
)

// targets returns the make targets that CI or a test makes, with those that these need.
func (s sources) targets() map[string]bool {
	needs := map[string][]string{}
	for _, match := range rule.FindAllStringSubmatch(s.makefile, -1) {
		needs[match[1]] = word.FindAllString(match[2], -1)
	}
	made := map[string]bool{}
	var makes func(string)
	makes = func(target string) {
		if _, exists := needs[target]; !exists || made[target] {
			return
		}
		made[target] = true
		for _, other := range needs[target] {
			makes(other)
		}
	}
	for _, match := range makeInCI.FindAllStringSubmatch(s.commands, -1) {
		for target := range strings.FieldsSeq(match[1]) {
			makes(target)
		}
	}
	for _, match := range makeInTest.FindAllStringSubmatch(s.tests, -1) {
		makes(match[1])
	}
	return made
}

// unproven returns the part of a command that nothing runs, or nothing.
func unproven(command string, made map[string]bool, elsewhere func(string) bool) string {
	for part := range strings.SplitSeq(command, "&&") {
		part = strings.TrimSpace(part)
		for assignment.MatchString(part) {
			part = assignment.ReplaceAllString(part, "")
		}
		name, arguments, _ := strings.Cut(part, " ")
		if part == "" || strings.HasPrefix(part, "#") || elsewhere(part) {
			continue
		}
		if name != "make" {
			return part
		}
		for argument := range strings.FieldsSeq(arguments) {
			if strings.ContainsAny(argument, "='\"$") {
				break // variables come last, and their values can have spaces
			}
			if !made[argument] {
				return part
			}
		}
	}
	return ""
}

func TestTheREADMERendersTheSamples(t *testing.T) {
	script, err := Script(filepath.Join(root, "README.md"), "Check a Collector without a cluster")
	if err != nil {
		t.Fatal(err)
	}
	cmd := Shell(t.Context(), script, "kubectl")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, mode := range []string{"Deployment", "DaemonSet", "StatefulSet"} {
		if !strings.Contains(string(out), "kind: "+mode) {
			t.Errorf("no %s in:\n%s", mode, out)
		}
	}
}

func TestEveryCommandIsRun(t *testing.T) {
	s := readSources(t)
	executed := "\n" // by tests
	add := func(script string, err error) {
		if err != nil {
			t.Errorf("a test runs commands that are not there: %v", err)
		}
		executed += script
	}
	for _, match := range scripted.FindAllStringSubmatch(s.tests, -1) {
		add(Script(filepath.Join(root, match[1]), match[2]))
	}
	for _, match := range blocks.FindAllStringSubmatch(s.tests, -1) {
		add(Blocks(filepath.Join(root, match[1])))
	}
	for _, match := range followed.FindAllStringSubmatch(s.tests, -1) {
		add(join(filepath.Join(root, match[1]), func(c Command) bool { return !c.inline }))
	}
	s.commands += executed
	made := s.targets()
	used := map[string]bool{}
	known := func(command string) bool {
		for _, e := range elsewhere {
			if regexp.MustCompile(`^(?:` + e.command + `)(\s|$)`).MatchString(command) {
				used[e.command] = true
				return true
			}
		}
		return regexp.MustCompile(`\b` + regexp.QuoteMeta(command) + `(\s|$)`).MatchString(executed)
	}
	commands := 0
	pages := pages(t)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, c := range Commands(page, pages[page]) {
			commands++
			if strings.Contains(executed, "\n"+c.Text) {
				continue
			}
			for line := range strings.SplitSeq(c.Text, "\n") {
				if part := unproven(line, made, known); part != "" {
					t.Errorf("%s:%d: nothing runs `%s`. Have a test run its section by docs.Script(%q, %q), or CI make the target; "+
						"if neither can be, say in test/docs/docs_test.go what does the same", c.Page, c.Line, part, c.Page, c.Heading)
				}
			}
		}
	}
	if commands < 20 {
		t.Errorf("found only %d commands: the test no longer sees them", commands)
	}
	for _, e := range elsewhere {
		switch {
		case !used[e.command]:
			t.Errorf("no page has the command %q any more: remove it from the table", e.command)
		case (e.test == "") == (e.why == ""):
			t.Errorf("for %q, the table should name a test or say why there is none", e.command)
		case e.test != "" && !strings.Contains(s.tests, "func "+e.test+"("):
			t.Errorf("for %q, the table names %s, which does not exist", e.command, e.test)
		}
	}
}
