package kubectl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kube8/kube8-operator/api/v1alpha1"
)

// restartedAnnotation is what `kubectl rollout restart` writes, too.
const restartedAnnotation = "kubectl.kubernetes.io/restartedAt"

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func (p *plugin) restartCommand() *cobra.Command {
	var given consent
	var w waiting
	cmd := p.about("restart", "Replace a Collector's pods, as its update strategy says",
		`Replace a Collector's pods, as its update strategy says. It writes the time to
spec.podAnnotations, which is a change of the pods.`,
		func(ctx context.Context, s *session, name string) error {
			read, err := s.read(ctx, name)
			if err != nil {
				return err
			}
			if err := given.mayChange(read); err != nil {
				return err
			}
			if paused, _ := v1alpha1.IsPaused(read); paused {
				return fmt.Errorf("collector %s/%s is paused, so nothing would restart; first: kubectl collector resume %[2]s -n %[1]s",
					s.namespace, name)
			}
			restarted := map[string]any{restartedAnnotation: time.Now().Format(time.RFC3339)}
			if err := s.send(ctx, read, map[string]any{"spec": map[string]any{"podAnnotations": restarted}}); err != nil {
				return err
			}
			if strategy := read.Spec.UpdateStrategy; strategy != nil && strategy.Type == "OnDelete" {
				fmt.Fprintln(p.ErrOut, "spec.updateStrategy is OnDelete: a pod is replaced once you delete it")
			}
			if err := p.done(name, "restarted"); err != nil {
				return err
			}
			return p.until(ctx, s, name, w)
		})
	given.addForce(cmd.Flags())
	w.addFlags(cmd.Flags(), untilReady, false)
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) pauseCommand() *cobra.Command {
	cmd := p.about("pause", "Have the operator leave a Collector's objects as they are",
		"Have the operator leave a Collector's objects as they are, until `resume`.",
		func(ctx context.Context, s *session, name string) error { return p.setPaused(ctx, s, name, true) })
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) resumeCommand() *cobra.Command {
	cmd := p.about("resume", "Have the operator follow a Collector's spec again",
		"Have the operator follow a Collector's spec again, and undo what was changed by hand.",
		func(ctx context.Context, s *session, name string) error { return p.setPaused(ctx, s, name, false) })
	p.mayBeDry(cmd)
	return cmd
}

func (p *plugin) setPaused(ctx context.Context, s *session, name string, pause bool) error {
	read, err := s.read(ctx, name)
	if err != nil {
		return err
	}
	value, verb := any(nil), "resumed"
	if pause {
		value, verb = "true", "paused"
	}
	if read.DeletionTimestamp != nil && pause {
		return errors.New("the Collector is being deleted, which a pause does not stop")
	}
	paused, _ := v1alpha1.IsPaused(read) // what says neither yes nor no pauses nothing
	if _, annotated := read.Annotations[v1alpha1.PausedAnnotation]; paused == pause && annotated == pause {
		return p.done(name, "is "+map[bool]string{true: "paused", false: "not paused"}[pause]+" already")
	}
	annotations := map[string]any{v1alpha1.PausedAnnotation: value}
	if err := s.send(ctx, read, map[string]any{"metadata": map[string]any{"annotations": annotations}}); err != nil {
		return err
	}
	return p.done(name, verb)
}
