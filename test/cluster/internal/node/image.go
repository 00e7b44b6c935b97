package node

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// loadPause makes the image that holds each pod's network namespace open, and
// imports it, which works once containerd does. No registry is asked, and no
// image builder is needed.
func (c *Cluster) loadPause(ctx context.Context) error {
	program, err := os.ReadFile(filepath.Join(c.bin, "pause"))
	if err != nil {
		return err
	}
	archive, err := imageArchive(pauseImage, "pause", program)
	if err != nil {
		return err
	}
	path := c.path("pause.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		return err
	}
	if _, err := c.ctr(ctx, "images", "import", path); err != nil {
		return err
	}
	return os.Remove(path)
}

// imageArchive returns an image of one static program, as `docker save` would
// write it.
func imageArchive(image, name string, program []byte) ([]byte, error) {
	layer, err := tarball(0o755, file{name, program})
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{
		"os": "linux", "architecture": runtime.GOARCH,
		"config": map[string]any{"Entrypoint": []string{"/" + name}, "User": "65535:65535"},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(layer))}},
	})
	if err != nil {
		return nil, err
	}
	manifest, err := json.Marshal([]map[string]any{{
		"Config": "config.json", "RepoTags": []string{image}, "Layers": []string{"layer.tar"},
	}})
	if err != nil {
		return nil, err
	}
	return tarball(0o644, file{"config.json", config}, file{"layer.tar", layer}, file{"manifest.json", manifest})
}

type file struct {
	name    string
	content []byte
}

func tarball(mode int64, files ...file) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: mode, Size: int64(len(f.content))}); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
