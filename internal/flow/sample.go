package flow

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
)

// role is what a metric counts.
type role uint8

// The roles. The last two are levels, and the others grow.
const (
	received role = iota
	sent
	failed  // attempts to send, which may be tried again
	dropped // what is lost
	refused // what the collector did not take
	queued
	capacity
	roles
)

// mostBytes is how much of a page is read. No collector's page is as large.
const mostBytes = 1 << 20

// lineLength is for the longest line of a page.
const lineLength = 16 << 10

// maxValue is the largest number that a metric can have: nothing counts further by one.
const maxValue = 1 << 53

// mostWork is how many bytes of labels may be searched for a page, so that no names and no page cost more than others. A search that
// ends at once costs as much as one of so many bytes.
const (
	mostWork   = 16 << 20
	leastBytes = 32
)

// errNoMetrics says that a page is not one that the profile knows. It says nothing of what the page has.
var errNoMetrics = errors.New("the answer has no metrics of the profile")

// Sample is what a page counts.
type Sample struct {
	values [roles]float64
	total  float64                // of all that grows: less than before means that the collector has started anew
	series [roles - queued]uint32 // how many there are of each level
}

// rule says what a series counts for.
type rule struct {
	role    role
	sign    float64
	labels  [][]byte // each is in the series' labels
	without [][]byte // none is
}

// reader reads pages of a profile.
type reader struct {
	prefix []byte
	rules  map[string][]rule // by names without _total
}

// newReader returns a reader of a profile's pages.
func newReader(profile profile) *reader {
	r := &reader{prefix: []byte(profile.prefix), rules: map[string][]rule{}}
	for at, names := range profile.names {
		for _, text := range names {
			counted, isLess := strings.CutPrefix(text, "-")
			name, labels, _ := strings.Cut(strings.TrimSuffix(counted, "}"), "{")
			made := rule{role: role(at), sign: 1}
			if isLess {
				made.sign = -1
			}
			for label := range strings.SplitSeq(labels, ",") {
				if key, value, isNegated := strings.Cut(label, `!="`); isNegated && !strings.Contains(key, `"`) {
					made.without = append(made.without, []byte(key+`="`+value))
				} else if label != "" {
					made.labels = append(made.labels, []byte(label))
				}
			}
			name = strings.TrimSuffix(name, "_total")
			r.rules[name] = append(r.rules[name], made)
		}
	}
	return r
}

// read sums up a page. buffer has room for the longest line. No line and no text of the page is kept.
func (r *reader) read(page io.Reader, buffer []byte) (*Sample, error) {
	found, isKnown, filled, left := &Sample{}, false, 0, mostWork
	page = io.LimitReader(page, mostBytes+1)
	for all := 0; ; {
		n, err := page.Read(buffer[filled:])
		filled, all = filled+n, all+n
		rest := buffer[:filled]
		for {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			isKnown = r.count(rest[:end], found, &left) || isKnown
			rest = rest[end+1:]
		}
		switch {
		case errors.Is(err, io.EOF) && all <= mostBytes:
			if !r.count(rest, found, &left) && !isKnown || left < 0 {
				return nil, errNoMetrics
			}
			return found, nil
		case err != nil, len(rest) == len(buffer), left < 0:
			return nil, errNoMetrics
		}
		filled = copy(buffer, rest)
	}
}

// count adds a line, and tells whether it is of the profile. It takes what that costs from the work that is left.
func (r *reader) count(line []byte, to *Sample, left *int) bool {
	end := bytes.IndexAny(line, "{ \t")
	if end <= 0 || line[0] == '#' {
		return false
	}
	isKnown := len(r.prefix) > 0 && bytes.HasPrefix(line, r.prefix)
	name := bytes.TrimSuffix(line[:end], []byte("_total"))
	rules := r.rules[string(name)]
	if len(rules) == 0 { // OpenTelemetry 0.130.0 has units in names: otelcol_exporter_sent_spans__spans__total
		name, _, _ = bytes.Cut(name, []byte("__"))
		rules = r.rules[string(name)]
	}
	if len(rules) == 0 {
		return isKnown
	}
	labels, text := line[end:end], line[end:]
	if line[end] == '{' {
		closing := closingOf(line[end:])
		if closing < 0 {
			return isKnown
		}
		labels, text = line[end:end+closing], line[end+closing+1:]
	}
	text = bytes.TrimLeft(text, " \t")
	if at := bytes.IndexAny(text, " \t\r"); at >= 0 {
		text = text[:at] // a timestamp or an exemplar follows
	}
	value, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(value >= 0 && value <= maxValue) { // NaN is neither
		return isKnown
	}
	for i := range rules {
		if !rules[i].matches(labels, left) {
			continue
		}
		to.values[rules[i].role] += rules[i].sign * value
		if rules[i].role < queued {
			to.total += value
		} else {
			to.series[rules[i].role-queued]++
		}
	}
	return true
}

// closingOf returns where the brace is that closes labels, or -1. Values of labels can have braces, and an exemplar has more.
func closingOf(labels []byte) int {
	if bytes.IndexByte(labels, '#') < 0 { // no exemplar, as on nearly all lines: this is faster
		return bytes.LastIndexByte(labels, '}')
	}
	isQuoted := false
	for i := 0; i < len(labels); i++ {
		switch labels[i] {
		case '"':
			isQuoted = !isQuoted
		case '\\':
			i++
		case '}':
			if !isQuoted {
				return i
			}
		}
	}
	return -1
}

func (r *rule) matches(labels []byte, left *int) bool {
	for _, label := range r.labels {
		if !hasLabel(labels, label, left) {
			return false
		}
	}
	for _, label := range r.without {
		if hasLabel(labels, label, left) {
			return false
		}
	}
	return true
}

// hasLabel tells whether labels, which begin with a brace, have one as a whole. It is false when no work is left.
func hasLabel(labels, label []byte, left *int) bool {
	for from := 0; *left >= 0; {
		at := bytes.Index(labels[from:], label)
		if at < 0 {
			*left -= leastBytes + len(labels) - from
			return false
		}
		*left -= leastBytes + at
		if at += from; at > 0 && bytes.IndexByte([]byte("{, "), labels[at-1]) >= 0 {
			return true
		}
		from = at + 1
	}
	return false
}
