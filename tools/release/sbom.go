package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"github.com/CycloneDX/cyclonedx-gomod/pkg/generate/bin"
	"github.com/rs/zerolog"
)

// sboms are the bills of materials of the operator's binaries: what Go has noted in each when it was linked.
func (t *tree) sboms(platforms []string) (files []file, err error) {
	for _, platform := range platforms {
		for _, variant := range []string{"", fips} {
			binary := binaryOf(platform, variant)
			bom, err := t.sbom(t.path(binary))
			if err != nil {
				return nil, fmt.Errorf("the SBOM of %s: %w", binary, err)
			}
			files = append(files, file{name: "kube8-operator-" + strings.ReplaceAll(platform, "/", "-") + variant + ".cdx.json", body: bom})
		}
	}
	return files, nil
}

// sbom returns the bill of materials of a binary in CycloneDX. It has no serial number, which would have to be random.
func (t *tree) sbom(binary string) ([]byte, error) {
	generator, err := bin.NewGenerator(binary,
		bin.WithLogger(zerolog.Nop()), bin.WithIncludeStdlib(true), bin.WithVersionOverride("v"+t.version))
	if err != nil {
		return nil, fmt.Errorf("read the binary: %w", err)
	}
	bom, err := generator.Generate()
	if err != nil {
		return nil, fmt.Errorf("read the binary: %w", err)
	}
	bom.Metadata.Timestamp = t.time.Format(time.RFC3339)
	var out bytes.Buffer
	encoder := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.Encode(bom); err != nil {
		return nil, fmt.Errorf("write: %w", err)
	}
	return out.Bytes(), nil
}
