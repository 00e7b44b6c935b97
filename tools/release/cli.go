package main

import (
	"fmt"
	"strings"
)

// commandLines are archives of the operator's binary with `render`, one for each platform on which people use it.
func (t *tree) commandLines(platforms []string) (archives []file, err error) {
	for _, platform := range platforms {
		archive, err := t.commandLine(platform)
		if err != nil {
			return nil, fmt.Errorf("the command line for %s: %w", platform, err)
		}
		archives = append(archives, archive)
	}
	return archives, nil
}

func (t *tree) commandLine(platform string) (file, error) {
	os, arch, _ := strings.Cut(platform, "/")
	files, err := readFiles(t.dir, "LICENSE")
	if err != nil {
		return file{}, err
	}
	binary, err := readFiles(t.dir, "bin/cli-"+os+"-"+arch+"/kube8-operator")
	if err != nil {
		return file{}, err
	}
	name, extension, pack := "kube8-operator", ".tar.gz", t.tarGz
	if os == "windows" {
		name, extension, pack = "kube8-operator.exe", ".zip", t.zip
	}
	body, err := pack(append(files, file{name: name, executable: true, body: binary[0].body}))
	return file{name: "kube8-operator_" + t.version + "_" + os + "_" + arch + extension, body: body}, err
}
