package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/iotenablers/enablers/deploy/tools/catalog"
)

// user is the number of the user and the group in the images, "nonroot" as in distroless ones.
const user = 65532

// folder is where the binary lies.
const folder = "/usr/local/bin"

// index returns the image of a command for all platforms.
func (b *build) index(command catalog.Command) (v1.ImageIndex, error) {
	labels := b.labels(command)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range b.platforms {
		image, err := b.image(command, platform, labels)
		if err != nil {
			return nil, fmt.Errorf("for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{
				OS: platform.OS, Architecture: platform.Architecture, Variant: platform.Variant,
			}},
		})
	}
	return mutate.Annotations(index, labels).(v1.ImageIndex), nil
}

// labels are the annotations that the OCI image specification defines.
func (b *build) labels(command catalog.Command) map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":         command.Name,
		"org.opencontainers.image.description":   command.Summary,
		"org.opencontainers.image.version":       b.version,
		"org.opencontainers.image.created":       b.created.Format(time.RFC3339),
		"org.opencontainers.image.source":        catalog.Source,
		"org.opencontainers.image.url":           catalog.Source,
		"org.opencontainers.image.documentation": catalog.Source + "/blob/main/docs/deploy.md",
		"org.opencontainers.image.licenses":      catalog.Licence,
		"org.opencontainers.image.vendor":        catalog.Vendor,
	}
	if b.revision != "" {
		labels["org.opencontainers.image.revision"] = b.revision
	}
	return labels
}

func (b *build) image(command catalog.Command, platform catalog.Platform, labels map[string]string) (v1.Image, error) {
	binary, err := os.ReadFile(b.binary(command, platform))
	if err != nil {
		return nil, err
	}
	base, err := b.layer(skeleton())
	if err != nil {
		return nil, err
	}
	program, err := b.layer([]entry{
		{name: "usr/", mode: 0o755}, {name: "usr/local/", mode: 0o755}, {name: "usr/local/bin/", mode: 0o755},
		{name: folder[1:] + "/" + command.Name, mode: 0o755, content: binary},
	})
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: b.created}
	image, err := mutate.Append(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		mutate.Addendum{Layer: base, History: v1.History{Created: created, CreatedBy: "skeleton"}},
		mutate.Addendum{Layer: program, History: v1.History{Created: created, CreatedBy: "go build ./cmd/" + command.Name}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Variant, file.Created = platform.OS, platform.Architecture, platform.Variant, created
	file.Config = v1.Config{
		User:         fmt.Sprintf("%d:%d", user, user),
		Entrypoint:   []string{folder + "/" + command.Name},
		Env:          append([]string{"PATH=" + folder}, command.Env...),
		WorkingDir:   "/data",
		Volumes:      map[string]struct{}{"/data": {}},
		ExposedPorts: map[string]struct{}{},
		Labels:       labels,
	}
	for _, port := range command.Ports {
		file.Config.ExposedPorts[port] = struct{}{}
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels).(v1.Image), nil
}

// entry is a file of a layer, or a folder if its name ends in a slash.
type entry struct {
	name    string
	mode    int64
	owner   int
	content []byte
}

// skeleton is what every image has besides its binary. A user that shares only the group, such
// as multi-link's root without capabilities over files, can write to the data.
func skeleton() []entry {
	return []entry{
		{name: "data/", mode: 0o770, owner: user},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0:root:/:/sbin/nologin\n" +
			"nonroot:x:65532:65532:nonroot:/data:/sbin/nologin\n")},
		{name: "tmp/", mode: 0o1777, owner: user},
	}
}

func (b *build) layer(entries []entry) (v1.Layer, error) {
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	for _, e := range entries {
		header := tar.Header{
			Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.content)),
			Typeflag: tar.TypeReg, ModTime: b.created, Format: tar.FormatPAX,
		}
		if e.name[len(e.name)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(buffer.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression),
		tarball.WithCompressedCaching)
}

// writeArchive writes an OCI image layout with the index as its only entry, as a tar file.
// Name is the reference that tools give the image when they load it.
func writeArchive(file string, index v1.ImageIndex, name string, created time.Time) (err error) {
	scratch, err := os.MkdirTemp(filepath.Dir(file), ".layout-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the archive is complete, or there is an error already
	at, err := layout.Write(scratch, empty.Index)
	if err != nil {
		return err
	}
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": name})); err != nil {
		return err
	}
	return archive(file, scratch, created)
}

// archive writes a folder as a tar file whose bytes depend on names and contents only. The
// file gets its name when it is complete.
func archive(file, folder string, created time.Time) (err error) {
	sizes := map[string]int64{}
	if err := filepath.Walk(folder, func(name string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			sizes[name] = info.Size()
		}
		return err
	}); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), ".archive-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(out.Name()) }() // it is there only after an error
	defer func() { _ = out.Close() }()           // closed already unless an error came first
	w := tar.NewWriter(out)
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{
			Name: filepath.ToSlash(inside), Mode: 0o644, Size: sizes[name], Typeflag: tar.TypeReg, ModTime: created, Format: tar.FormatPAX,
		}); err != nil {
			return err
		}
		if err := copyFile(w, name); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), file)
}

func copyFile(to io.Writer, name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it was only read
	_, err = io.Copy(to, in)
	return err
}
