// Package redact keeps configuration content out of the logs.
//
// It decorates loggers. At some verbosity the stock reconciler prints the manifest of each release, Secrets included,
// and client-go the body of each request and answer; the decorated logger says that no such verbosity is enabled.
package redact

import "github.com/go-logr/logr"

const (
	// Manifests is the verbosity at which helm-operator-plugins v0.9.1 prints manifests to standard output
	// (pkg/reconciler/reconciler.go, doInstall, doUpgrade and doUninstall).
	Manifests = 4

	// Bodies is the verbosity at which client-go v0.35 logs what it sends and receives (rest/request.go, logBody).
	Bodies = 8
)

// Logger returns log without the verbosities from level on.
func Logger(log logr.Logger, level int) logr.Logger {
	return log.WithSink(sink{log.GetSink(), level})
}

type sink struct {
	logr.LogSink
	level int
}

// Enabled says whether level is logged.
func (s sink) Enabled(level int) bool {
	return level < s.level && s.LogSink.Enabled(level)
}

// WithValues returns the decorated sink with more key/value pairs.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	return sink{s.LogSink.WithValues(keysAndValues...), s.level}
}

// WithName returns the decorated sink with a longer name.
func (s sink) WithName(name string) logr.LogSink {
	return sink{s.LogSink.WithName(name), s.level}
}
