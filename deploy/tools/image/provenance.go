package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/iotenablers/enablers/deploy/tools/catalog"
)

// writeProvenance writes an in-toto statement with a predicate of SLSA provenance 1.0, not
// signed. What is only known while a build runs, such as its time, is not in it.
func (b *build) writeProvenance(command catalog.Command, m modules, digest v1.Hash, archive string) error {
	file, err := sum(archive)
	if err != nil {
		return err
	}
	var platforms []any
	for _, platform := range b.platforms {
		platforms = append(platforms, platform.String())
	}
	parameters, err := structpb.NewStruct(map[string]any{
		"command": command.Name, "version": b.version, "platforms": platforms, "sourceDateEpoch": b.created.Unix(),
	})
	if err != nil {
		return err
	}
	source := &intoto.ResourceDescriptor{Name: "source", Uri: "git+" + catalog.Source}
	if b.revision != "" {
		source.Uri += "@" + b.revision
		source.Digest = map[string]string{"gitCommit": strings.TrimSuffix(b.revision, "-dirty")}
	}
	inputs := []*intoto.ResourceDescriptor{source, {Name: "go", Uri: "pkg:generic/go@" + strings.TrimPrefix(m.toolchain, "go")}}
	for _, key := range slices.Sorted(maps.Keys(m.all)) {
		inputs = append(inputs, &intoto.ResourceDescriptor{Uri: "pkg:golang/" + key, Digest: map[string]string{"goModuleH1": m.all[key].Sum}})
	}
	predicate := &provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType:            catalog.Source + "/blob/main/docs/deploy.md#images",
			ExternalParameters:   parameters,
			ResolvedDependencies: inputs,
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: b.builder}},
	}
	if err := predicate.Validate(); err != nil {
		return err
	}
	inside, err := toStruct(predicate)
	if err != nil {
		return err
	}
	statement := &intoto.Statement{
		Type: intoto.StatementTypeUri,
		Subject: []*intoto.ResourceDescriptor{
			{Name: command.Name, Digest: map[string]string{digest.Algorithm: digest.Hex}},
			{Name: command.Name + ".tar", Digest: map[string]string{"sha256": file}},
		},
		PredicateType: "https://slsa.dev/provenance/v1",
		Predicate:     inside,
	}
	if err := statement.Validate(); err != nil {
		return err
	}
	text, err := protojson.Marshal(statement)
	if err != nil {
		return err
	}
	// protojson varies its spaces on purpose.
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	indented.WriteByte('\n')
	return os.WriteFile(filepath.Join(b.out, command.Name+".provenance.json"), indented.Bytes(), 0o644)
}

func toStruct(predicate *provenance.Provenance) (*structpb.Struct, error) {
	text, err := protojson.Marshal(predicate)
	if err != nil {
		return nil, err
	}
	var inside structpb.Struct
	return &inside, protojson.Unmarshal(text, &inside)
}
