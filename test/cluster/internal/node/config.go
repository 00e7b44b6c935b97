package node

import (
	"bytes"
	"embed"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed config
var configs embed.FS

// writeConfigs writes the configuration of each part, for this folder and the
// folder of the CNI plugins.
func (c *Cluster) writeConfigs(cni string) error {
	all, err := template.ParseFS(configs, "config/*")
	if err != nil {
		return err
	}
	values := map[string]string{
		"Dir": c.Dir, "Socket": c.socket(), "CNI": cni, "PauseImage": pauseImage,
		"NodeName": nodeName, "NodeIP": nodeIP, "Bridge": bridge, "PodRange": podRange,
	}
	for _, config := range all.Templates() {
		path := c.path("config", config.Name())
		if strings.HasSuffix(path, ".conflist") {
			path = c.path("cni", config.Name())
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		var content bytes.Buffer
		if err := config.Execute(&content, values); err != nil {
			return err
		}
		if err := os.WriteFile(path, content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// cniPlugins finds the folder where the machine's packages put the CNI plugins.
func cniPlugins() (string, error) {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"} {
		if _, err := os.Stat(filepath.Join(dir, "bridge")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no CNI plugins are installed")
}
