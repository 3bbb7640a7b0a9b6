package oci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/iotenablers/enablers/modelrepo/oci"
)

// printer is a visitor that prints what it receives.
type printer struct{}

func (printer) Index(index oci.Index) error {
	for _, d := range index.Manifests {
		fmt.Println("index:", d.Annotations[oci.AnnotationRefName])
	}
	return nil
}

func (printer) Blob(_ oci.Descriptor, content io.Reader) error {
	data, err := io.ReadAll(content)
	if len(data) < 20 {
		fmt.Printf("blob: %s\n", data)
	}
	return err
}

// hello returns the parts of an artifact with one layer.
func hello() (layer []byte, manifest []byte, index oci.Index) {
	layer = []byte("hello")
	manifest, err := json.Marshal(oci.Manifest{
		SchemaVersion: 2, MediaType: oci.MediaTypeManifest, ArtifactType: "application/vnd.example.greeting", Config: oci.Empty(),
		Layers: []oci.Descriptor{{MediaType: "text/plain", Digest: oci.Digest(layer), Size: int64(len(layer))}},
	})
	if err != nil {
		log.Fatal(err)
	}
	index.Manifests = []oci.Descriptor{{
		MediaType: oci.MediaTypeManifest, Digest: oci.Digest(manifest), Size: int64(len(manifest)),
		Annotations: map[string]string{oci.AnnotationRefName: "greeting:1"},
	}}
	return layer, manifest, index
}

// write writes the parts.
func write(w *oci.Writer, layer, manifest []byte, index oci.Index) error {
	empty := oci.Empty()
	for _, b := range []struct {
		describe oci.Descriptor
		data     []byte
	}{{index.Manifests[0], manifest}, {empty, empty.Data}, {oci.Descriptor{Digest: oci.Digest(layer), Size: int64(len(layer))},
		layer}} {
		if err := w.Bytes(b.describe, b.data); err != nil {
			return err
		}
	}
	return w.Close()
}

func ExampleNewTarWriter() {
	layer, manifest, index := hello()
	var archive bytes.Buffer
	w, err := oci.NewTarWriter(&archive, index)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(w, layer, manifest, index); err != nil {
		log.Fatal(err)
	}
	if err := oci.ReadTar(&archive, printer{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// index: greeting:1
	// blob: {}
	// blob: hello
}

func ExampleNewDirWriter() {
	dir, err := os.MkdirTemp("", "layout")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	layer, manifest, index := hello()
	w, err := oci.NewDirWriter(dir, index)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(w, layer, manifest, index); err != nil {
		log.Fatal(err)
	}
	if err := oci.ReadDir(dir, printer{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// index: greeting:1
	// blob: {}
	// blob: hello
}

func ExampleParseIndex() {
	index, err := oci.ParseIndex([]byte(`{"schemaVersion":2,"manifests":[]}`))
	fmt.Println(len(index.Manifests), err)
	// Output: 0 <nil>
}

func ExampleParseManifest() {
	_, manifest, _ := hello()
	m, err := oci.ParseManifest(manifest)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.ArtifactType, m.Layers[0].MediaType, m.Layers[0].Size)
	// Output: application/vnd.example.greeting text/plain 5
}
