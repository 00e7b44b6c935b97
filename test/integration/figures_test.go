package integration

import (
	"fmt"
	"sync"
	"testing"
)

// figures are what the tests measured: the table in docs/explanation/revisions.md, as `make chaos` prints it.
var (
	figures      []string
	figuresMutex sync.Mutex
)

// recordFigure records one line of the table.
func recordFigure(t *testing.T, name string, value any) {
	t.Helper()
	figuresMutex.Lock()
	defer figuresMutex.Unlock()
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
