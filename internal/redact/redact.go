// Package redact keeps configuration content out of the logs.
//
// It decorates the stock reconciler's logger. At verbosity 4 and above the reconciler prints the manifest of each
// release, Secrets included, to standard output; the decorated logger says that no such verbosity is enabled.
package redact

import "github.com/go-logr/logr"

// manifestVerbosity is the verbosity at which helm-operator-plugins v0.9.1 prints manifests
// (pkg/reconciler/reconciler.go, doInstall, doUpgrade and doUninstall).
const manifestVerbosity = 4

// Logger returns log without the verbosity at which manifests are printed.
func Logger(log logr.Logger) logr.Logger {
	return log.WithSink(sink{log.GetSink()})
}

type sink struct{ logr.LogSink }

// Enabled says whether level is logged.
func (s sink) Enabled(level int) bool {
	return level < manifestVerbosity && s.LogSink.Enabled(level)
}

// WithValues returns the decorated sink with more key/value pairs.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(keysAndValues...)}
}

// WithName returns the decorated sink with a longer name.
func (s sink) WithName(name string) logr.LogSink {
	return sink{s.LogSink.WithName(name)}
}
