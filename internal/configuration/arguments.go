package configuration

import (
	"encoding/base64"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// directory is where pods have the configuration, further files and bases.
const directory = "/etc/collector/"

var (
	// configFlag is an option of programs that merge what is given with each of several.
	configFlag = regexp.MustCompile(`^--?config(-(yaml|toml|json))?$`)

	// lastOnly are programs that read only the last configFlag. Their own file includes further ones.
	lastOnly = regexp.MustCompile(`fluent-?bit`)

	// extensions has the only one of the files that a program reads in a directory.
	extensions = map[string]*regexp.Regexp{".alloy": regexp.MustCompile(`alloy`), ".conf": regexp.MustCompile(`telegraf`)}

	// wholeDirectory is a word of a command line that names all files.
	wholeDirectory = regexp.MustCompile(`(^|[=:,])/etc/collector/?$`)

	// glob is a pattern for names of files.
	glob = regexp.MustCompile(`[-\w./?*]*\*[-\w./?*]*`)

	// comment is a line that includes nothing, in any language of a collector.
	comment = regexp.MustCompile(`(?m)^[ \t]*(#|//).*$`)
)

// readBases has a collector's arguments name the files of its bases, where the argument that names the collector's own file is: programs
// merge the files, and the last one wins. Bases that own, the configuration, or another text of the pods names are included by the
// program itself. A check that reads the own file has to read the bases, too: else a broken one reaches the pods. The error is an *Error
// that names a base which the collector would not read.
func readBases(values map[string]any, own []byte) error {
	bases := asMaps(values["bases"])
	if len(bases) == 0 {
		return nil
	}
	collector, _ := values["collector"].(map[string]any)
	ownFile := directory + textOf(collector, "fileName")
	var first, last, ownFiles []string
	for _, base := range bases {
		if file := directory + textOf(base, "file"); textOf(base, "position") == "last" {
			last = append(last, file)
		} else {
			first = append(first, file)
		}
	}
	if collector["configuration"] != nil || collector["configurationText"] != nil || collector["configurationSecret"] != nil {
		ownFiles = []string{ownFile}
	}
	a := arguments{ownFile, slices.Concat(first, ownFiles, last), !runs(lastOnly, values), extensionOf(values), variables(values)}
	given, isSet := values["args"].([]any)
	if !isSet {
		given = []any{"--config=" + ownFile}
	}
	values["args"] = a.expand(given)
	texts := append(filesOf(collector), string(own))
	for i := range texts {
		texts[i] = comment.ReplaceAllString(texts[i], "")
	}
	if base := a.unread(given, texts, values); base != nil {
		return &Error{Field: "spec.args", Reason: fmt.Sprintf("the collector would not read base %q: no argument names %s%s; %s%s",
			textOf(base, "name"), directory, textOf(base, "file"), a.fix(), a.hint(base))}
	}
	check, _ := values["check"].(map[string]any)
	if given, _ = check["args"].([]any); len(given) == 0 {
		return nil // it has those of the pods, which name the bases
	}
	check = maps.Clone(check)
	check["args"], values["check"] = a.expand(given), check
	if base := a.unread(given, texts, values); base != nil && slices.ContainsFunc(a.line(given, values), a.isOwn) {
		return &Error{Field: "spec.check.args", Reason: fmt.Sprintf("the check would pass without base %q: its arguments name %s, and not %s%s; "+
			"name both, or give the first by --config, which the operator repeats for each base%s",
			textOf(base, "name"), ownFile, directory, textOf(base, "file"), a.hint(base))}
	}
	return nil
}

// arguments are those of a container.
type arguments struct {
	own       string   // the file of the collector's own configuration
	files     []string // all files that the collector reads, in their order
	merges    bool     // the program merges several files
	extension string   // the only one of files that the program reads in a directory, or empty
	variables *strings.Replacer
}

// isOwn tells whether a word names the file of the collector's own configuration.
func (a arguments) isOwn(word string) bool {
	return regexp.MustCompile(regexp.QuoteMeta(a.own) + `($|[^-.\w])`).MatchString(word)
}

// line returns the command of a chart's values with arguments that are given, as a container has them.
func (a arguments) line(given []any, values map[string]any) (words []string) {
	command, _ := values["command"].([]any)
	args := a.expand(given)
	if ignoresArguments(fmt.Sprintln(command...)) {
		args = nil
	}
	for _, word := range slices.Concat(command, args) {
		words = append(words, a.variables.Replace(fmt.Sprint(word)))
	}
	return words
}

// unread returns the first base of a chart's values that neither a container with the given arguments nor a text names, or nil.
func (a arguments) unread(given []any, texts []string, values map[string]any) map[string]any {
	words := a.line(given, values)
	command, _ := values["command"].([]any)
	given = slices.Concat(given, command)
	for _, variable := range asMaps(values["env"]) {
		given = append(given, variable["value"])
	}
	for _, variable := range asMaps(values["env"]) {
		if !strings.Contains(fmt.Sprintln(given...), "$("+textOf(variable, "name")+")") { // otherwise it is a part of a word
			words = append(words, a.variables.Replace(textOf(variable, "value")))
		}
	}
	collector, _ := values["collector"].(map[string]any)
	if collector["configurationSecret"] != nil && slices.ContainsFunc(words, a.isOwn) {
		return nil // the program reads a file that is not in the values, and that may include the bases
	}
	for _, base := range asMaps(values["bases"]) {
		if !a.names(words, texts, textOf(base, "file")) {
			return base
		}
	}
	return nil
}

// fix says what has a collector read its bases.
func (a arguments) fix() string {
	if !a.merges {
		return "include the base's file in the configuration"
	}
	return "add --config=" + a.own + ", or name the base's file in args or, where the program includes files, in the configuration"
}

// hint says why naming the directory is not enough for a base, if that is so.
func (a arguments) hint(base map[string]any) string {
	if a.readsInDirectory(textOf(base, "file")) {
		return ""
	}
	return "; in a directory, the program reads only " + a.extension + " files: give the base a key that ends so"
}

func (a arguments) readsInDirectory(file string) bool {
	return a.extension == "" || path.Ext(file) == a.extension
}

// runs tells whether the collector of a chart's values, or its image, has a name of some programs.
func runs(programs *regexp.Regexp, values map[string]any) bool {
	collector, _ := values["collector"].(map[string]any)
	image, _ := values["image"].(map[string]any)
	return programs.MatchString(textOf(collector, "name")) || programs.MatchString(textOf(image, "repository"))
}

func extensionOf(values map[string]any) string {
	for extension, programs := range extensions {
		if runs(programs, values) {
			return extension
		}
	}
	return ""
}

// expand returns arguments with one for each file in place of the one that names the collector's own, and in the same spelling. A program
// that merges nothing gets only a single file so.
func (a arguments) expand(given []any) (args []any) {
	for i := 0; i < len(given); i++ {
		flag, scheme, own, isOne := a.optionAt(given, i)
		switch {
		case flag == "" || own != a.own || !a.merges && len(a.files) > 1:
			args = append(args, fmt.Sprint(given[i]))
			continue
		case !isOne:
			i++
		}
		for _, file := range a.files {
			if isOne {
				args = append(args, flag+"="+scheme+file)
			} else {
				args = append(args, flag, scheme+file)
			}
		}
	}
	return args
}

// optionAt returns the configFlag that is a word of a command line, and the file that it gives. isOne tells whether one word has both.
func (a arguments) optionAt(given []any, i int) (flag, scheme, file string, isOne bool) {
	flag, value, isOne := strings.Cut(fmt.Sprint(given[i]), "=")
	if !configFlag.MatchString(flag) {
		return "", "", "", false
	}
	if !isOne && i+1 < len(given) {
		value = fmt.Sprint(given[i+1])
	}
	value = a.variables.Replace(value)
	file = strings.TrimPrefix(value, "file:")
	return flag, strings.TrimSuffix(value, file), path.Clean(file), isOne
}

var (
	script    = regexp.MustCompile(`(^|[/ ])(ba|da|a|k|z)?sh( -\w+)* -\w*c `)
	parameter = regexp.MustCompile(`\$\{?[@*\d]`)
)

// ignoresArguments tells whether a command is the script of a shell that passes no arguments on.
func ignoresArguments(command string) bool {
	found := script.FindStringIndex(command)
	return found != nil && !parameter.MatchString(command[found[1]:])
}

// variables replaces the variables in arguments that a container's environment has as text.
func variables(values map[string]any) *strings.Replacer {
	var pairs []string
	for _, variable := range asMaps(values["env"]) {
		if value, isText := variable["value"].(string); isText {
			pairs = append(pairs, "$("+textOf(variable, "name")+")", strings.NewReplacer(pairs...).Replace(value))
		}
	}
	return strings.NewReplacer(pairs...)
}

// names tells whether one of the words of a command line, or of texts, names a file: by its name, a pattern or the directory.
func (a arguments) names(words, texts []string, file string) bool {
	if a.readsInDirectory(file) && slices.ContainsFunc(words, wholeDirectory.MatchString) {
		return true
	}
	named := regexp.MustCompile(`(^|[^-.\w])` + regexp.QuoteMeta(file) + `($|[^-.\w])`)
	return slices.ContainsFunc(slices.Concat(words, texts), func(text string) bool {
		return named.MatchString(text) || slices.ContainsFunc(glob.FindAllString(text, -1), func(pattern string) bool {
			return matches(pattern, file)
		})
	})
}

// matches tells whether a pattern is for a file of the directory. A relative one without a letter is none for files: "*" is a tag of
// Fluent Bit, "*.*" a selector of rsyslog, and ".*" a regular expression. One below / is what follows a variable.
func matches(pattern, file string) bool {
	if path.Dir(pattern) == "/" {
		pattern = pattern[1:]
	}
	if !path.IsAbs(pattern) {
		if !strings.ContainsFunc(pattern, unicode.IsLetter) {
			return false
		}
		pattern = path.Join(directory, pattern)
	}
	isMatch, _ := path.Match(path.Clean(pattern), directory+file)
	return isMatch
}

// filesOf returns the decoded further files of a collector.
func filesOf(collector map[string]any) (texts []string) {
	files, _ := collector["files"].(map[string]any)
	for _, encoded := range files {
		decoded, _ := base64.StdEncoding.DecodeString(fmt.Sprint(encoded)) // as far as it is base64; the schema demands that
		texts = append(texts, string(decoded))
	}
	return texts
}

func textOf(fields map[string]any, name string) string {
	text, _ := fields[name].(string)
	return text
}

func asMaps(value any) (maps []map[string]any) {
	list, _ := value.([]any)
	for _, item := range list {
		if fields, is := item.(map[string]any); is {
			maps = append(maps, fields)
		}
	}
	return maps
}
