package operator

import (
	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// mostVerbose is below the verbosity 8. There client-go v0.35 logs the bodies of requests and answers, and with them
// configurations and credentials (rest/request.go, logBody).
const mostVerbose = zapcore.Level(-7)

// Logger returns the operator's logger. However verbose options want it, it logs nothing of a configuration.
func Logger(options zap.Options) logr.Logger {
	if options.Level != nil && options.Level.Enabled(mostVerbose) {
		options.Level = mostVerbose
	}
	return zap.New(zap.UseFlagOptions(&options))
}
