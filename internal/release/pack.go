package release

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
)

// maxUnpacked is how many bytes of a record are unpacked to note that it is superseded.
const maxUnpacked = 8 << 20

// pack packs the text of a release as Helm stores it.
func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	encoder := base64.NewEncoder(base64.StdEncoding, &packed)
	writer := gzip.NewWriter(encoder)
	_, err := writer.Write(text)
	if err := errors.Join(err, writer.Close(), encoder.Close()); err != nil {
		return nil, fmt.Errorf("pack the record of a revision: %w", err)
	}
	return packed.Bytes(), nil
}

// unpack returns the text of a release as Helm stores it. It is an error if that is damaged, or larger than it can be.
func unpack(content []byte) ([]byte, error) {
	reader, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(content)))
	if err != nil {
		return nil, fmt.Errorf("unpack the record of a revision: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil || len(text) > maxUnpacked {
		return nil, fmt.Errorf("unpack the record of a revision, which is damaged or too large: %w", err)
	}
	return text, nil
}
