package operator

import (
	"flag"
	"log"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func TestLoggerKeepsOrdinaryVerbosityAndDropsTheBodiesOfRequests(t *testing.T) {
	for wanted, rows := range map[string]map[int]bool{
		"":      {0: true, 1: false, 8: false},
		"debug": {0: true, 1: true, 2: false, 8: false},
		"7":     {0: true, 1: true, 7: true, 8: false},
		"10":    {0: true, 1: true, 7: true, 8: false, 10: false},
	} {
		var options zap.Options
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		options.BindFlags(flags)
		if wanted != "" {
			if err := flags.Parse([]string{"--zap-log-level=" + wanted}); err != nil {
				t.Fatal(err)
			}
		}
		var lines strings.Builder
		options.DestWriter = &lines
		log := Logger(options).WithName("client").WithValues("collector", "a/b")
		for level, want := range rows {
			log.V(level).Info("a line of verbosity " + strconv.Itoa(level))
			if got := strings.Contains(lines.String(), "verbosity "+strconv.Itoa(level)+`"`); got != want {
				t.Errorf("--zap-log-level=%s: verbosity %d logged: got %t, want %t", wanted, level, got, want)
			}
		}
	}
}

// The transport of net/http has no log of its own. Pods that are asked for their metrics can answer before they are asked.
func TestNothingThatAServerSaysIsLoggedByNetHTTP(t *testing.T) {
	var lines strings.Builder
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	if err := Run(t.Context(), &rest.Config{}, Options{WatchesFile: "none"}); err == nil {
		t.Fatal("the operator runs without watches")
	}
	log.Print(`Unsolicited response received on idle HTTP channel starting with "PASSWORD"`)
	if lines.Len() > 0 {
		t.Errorf("logged: %s", &lines)
	}
}
