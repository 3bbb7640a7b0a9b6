package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/iotenablers/enablers/deploy/tools/catalog"
)

// modules is what the linker recorded in the binaries of a command.
type modules struct {
	toolchain string                  // of Go, such as go1.26.8
	all       map[string]debug.Module // by path@version, those of all platforms
	binaries  map[string]string       // SHA-256 by platform
}

func (b *build) modules(command catalog.Command) (modules, error) {
	m := modules{all: map[string]debug.Module{}, binaries: map[string]string{}}
	for _, platform := range b.platforms {
		name := b.binary(command, platform)
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return m, err
		}
		if m.toolchain != "" && m.toolchain != info.GoVersion {
			return m, fmt.Errorf("%s was built by %s, and another binary by %s", name, info.GoVersion, m.toolchain)
		}
		m.toolchain = info.GoVersion
		for _, module := range info.Deps {
			one := *module
			if module.Replace != nil {
				one = *module.Replace
			}
			m.all[one.Path+"@"+one.Version] = one
		}
		if m.binaries[platform.String()], err = sum(name); err != nil {
			return m, err
		}
	}
	return m, nil
}

// writeBill writes the software bill of materials in CycloneDX's form. It has no serial
// number and no time of its own, so that it is the same for the same image.
func (b *build) writeBill(command catalog.Command, m modules, digest v1.Hash) error {
	root := fmt.Sprintf("pkg:oci/%s@%s%%3A%s?tag=%s", command.Name, digest.Algorithm, digest.Hex, tag(b.version))
	components := []cdx.Component{{
		BOMRef: "pkg:golang/std@" + strings.TrimPrefix(m.toolchain, "go"), Type: cdx.ComponentTypeLibrary,
		Name: "std", Version: m.toolchain, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(m.toolchain, "go"),
		Description: "The Go standard library",
	}}
	for _, key := range slices.Sorted(maps.Keys(m.all)) {
		module := m.all[key]
		component := cdx.Component{
			BOMRef: "pkg:golang/" + key, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version,
			PackageURL: "pkg:golang/" + strings.ReplaceAll(key, "+", "%2B") + "?type=module",
		}
		if hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(hash) == sha256.Size {
			component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
		}
		components = append(components, component)
	}
	var uses []string
	for _, component := range components {
		uses = append(uses, component.BOMRef)
	}
	for _, platform := range b.platforms {
		components = append(components, cdx.Component{
			BOMRef: "file:" + platform.String(), Type: cdx.ComponentTypeFile, Name: folder + "/" + command.Name, Version: b.version,
			Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: m.binaries[platform.String()]}},
			Properties: &[]cdx.Property{{Name: "platform", Value: platform.String()}},
		})
	}
	bill := cdx.NewBOM()
	bill.Metadata = &cdx.Metadata{
		Timestamp: b.created.Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: root, Type: cdx.ComponentTypeContainer, Name: command.Name, Version: b.version, Description: command.Summary,
			PackageURL: root, Licenses: &cdx.Licenses{{License: &cdx.License{ID: catalog.Licence}}},
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest.Hex}},
		},
	}
	bill.Components = &components
	bill.Dependencies = &[]cdx.Dependency{{Ref: root, Dependencies: &uses}}
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cdx.SpecVersion1_6); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.out, command.Name+".cdx.json"), text.Bytes(), 0o644)
}

// sum returns the SHA-256 of a file in hexadecimal digits.
func sum(name string) (string, error) {
	in, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }() // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
