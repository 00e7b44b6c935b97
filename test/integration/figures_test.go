package integration

import (
	"fmt"
	"testing"
)

// figures are what the tests measured: the table in docs/explanation/revisions.md, as `make chaos` prints it.
var figures []string

// recordFigure records one line of the table. Tests that are parallel have none.
func recordFigure(t *testing.T, name string, value any) {
	t.Helper()
	figures = append(figures, fmt.Sprintf("| %s | %v |", name, value))
}

// printFigures prints the table.
func printFigures() {
	if len(figures) == 0 {
		return
	}
	fmt.Print("\n| What | Figure |\n| --- | --- |\n")
	for _, figure := range figures {
		fmt.Println(figure)
	}
}
