package history

import (
	"slices"
	"testing"
)

func TestMakersOfTemplates(t *testing.T) {
	a, b := Template{Image: "a"}, Template{Image: "b"}
	revisions := []Revision{{Number: 3, template: b}, {Number: 2, template: a}, {Number: 1, template: a}}
	for name, row := range map[string]struct {
		templates []Template
		want      []int
	}{
		"each has its revision":                      {[]Template{b, a, a}, []int{3, 2, 1}},
		"pods of one second are in no order":         {[]Template{a, b, a}, []int{2, 3, 1}},
		"another template is of no known revision":   {[]Template{{Image: "c"}, b}, []int{0, 3}},
		"a template without anything is of none":     {[]Template{{}}, []int{0}},
		"there may be more templates than revisions": {[]Template{b, b}, []int{3, 0}},
		"without pods, there is nothing to find out": {nil, nil},
	} {
		if got := Makers(revisions, row.templates); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
