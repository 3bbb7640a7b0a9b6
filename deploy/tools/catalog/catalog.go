// Package catalog says what is shipped: the commands, and what images and packages have to
// know about each of them.
package catalog

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The project, as labels and packages name it.
const (
	Source     = "https://github.com/iotenablers/enablers"
	Licence    = "Apache-2.0"
	Vendor     = "The iotenablers authors"
	Maintainer = "The iotenablers authors <maintainers@iotenablers.example>"
)

// Command is one program of the project.
type Command struct {
	Name    string
	Summary string // one line, without a full stop
	About   string // a few sentences
	// Env is the environment of the image: data below /data, and listeners that other
	// machines reach, which makes the servers ask for tokens.
	Env   []string
	Ports []string // as NUMBER/PROTOCOL
	// Service is true for a server, which has a data folder and a unit of systemd.
	Service bool
}

// Commands returns all commands, in the order of their names.
func Commands() []Command {
	return []Command{
		{
			Name: "annotator", Service: true,
			Summary: "Semantic annotator: JSON, CSV and XML messages into RDF",
			About: "Channels take messages from MQTT and Kafka brokers, map them with RML and publish RDF, in order and at " +
				"least once. They are created and watched over REST and on pages.",
			Env:   []string{"ANNOTATOR_DATA=/data"},
			Ports: []string{"8080/tcp"},
		},
		{
			Name: "apimanager", Service: true,
			Summary: "API management: portal, publisher and gateway",
			About:   "OpenAPI definitions are published in a portal or over REST, and a gateway serves and secures what they define.",
			Env: []string{
				"APIMANAGER_DATA=/data", "APIMANAGER_LISTEN=0.0.0.0:8999",
				"APIMANAGER_GATEWAY_LISTEN=0.0.0.0:8100", "APIMANAGER_ADMIN_LISTEN=0.0.0.0:8101",
			},
			Ports: []string{"8100/tcp", "8101/tcp", "8999/tcp"},
		},
		{
			Name: "enablers", Service: true,
			Summary: "All building blocks in one process, with a console",
			About: "The annotator with an MQTT broker, the model repository, the training collector, API management and " +
				"multi-link with links in memory, for trials. It also backs up and restores the data of the servers.",
			Env: []string{
				"ENABLERS_DATA=/data", "ENABLERS_LISTEN=0.0.0.0:8080", "ENABLERS_MODELREPO=0.0.0.0:8081",
				"ENABLERS_FLCOLLECTOR=0.0.0.0:8000", "ENABLERS_FLCOLLECTOR_GRPC=0.0.0.0:8088",
				"ENABLERS_APIMANAGER=0.0.0.0:8999", "ENABLERS_GATEWAY=0.0.0.0:8100", "ENABLERS_GATEWAY_ADMIN=0.0.0.0:8101",
				"ENABLERS_MULTILINK=0.0.0.0:3333", "ENABLERS_MULTILINK_CLIENT=0.0.0.0:3334",
			},
			Ports: []string{
				"1883/tcp", "3333/tcp", "3334/tcp", "8000/tcp", "8080/tcp", "8081/tcp", "8088/tcp",
				"8100/tcp", "8101/tcp", "8999/tcp",
			},
		},
		{
			Name: "flcollector", Service: true,
			Summary: "Training collector: federated learning with Flower clients",
			About:   "Flower clients train, the collector aggregates what they send, and the result goes to an FL repository.",
			Env:     []string{"FLCOLLECTOR_DATA=/data", "HOST=0.0.0.0"},
			Ports:   []string{"8000/tcp", "8088/tcp"},
		},
		{
			Name: "modelrepo", Service: true,
			Summary: "Repository of models: versions and content by format",
			About:   "Namespaces, models, versions and content by format over a REST interface, on a disk, in MongoDB or in S3.",
			Env:     []string{"MODELREPO_DATA=/data", "MODELREPO_LISTEN=0.0.0.0:8081"},
			Ports:   []string{"8081/tcp"},
		},
		{
			Name: "multilink", Service: true,
			Summary: "Multi-link: several radio links, one network",
			About: "Radio links between a server and its clients are bonded into one layer-2 network, so that its users do " +
				"not notice the loss of a link.",
			Env:   []string{"MULTILINK_DATA=/data", "MULTILINK_LISTEN=0.0.0.0:3333"},
			Ports: []string{"3333/tcp"},
		},
		{
			Name:    "rml",
			Summary: "Mappings of data into RDF at the command line",
			About:   "Maps JSON, CSV and XML files into RDF with RML and the engine of the annotator, and examines mappings.",
		},
	}
}

// Select returns the commands of these names, all of them for none.
func Select(names []string) ([]Command, error) {
	var chosen, known = []Command{}, []string{}
	for _, command := range Commands() {
		known = append(known, command.Name)
		if len(names) == 0 || slices.Contains(names, command.Name) {
			chosen = append(chosen, command)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("command %q: unknown; known are %s", name, strings.Join(known, ", "))
		}
	}
	return chosen, nil
}

// Platform is an operating system and a processor, as images name them.
type Platform struct{ OS, Architecture, Variant string }

// ParsePlatform reads OS/ARCHITECTURE[/VARIANT], such as linux/arm/v7.
func ParsePlatform(text string) (Platform, error) {
	if !regexp.MustCompile(`^[a-z0-9]+/[a-z0-9]+(/v[0-9]+)?$`).MatchString(text) {
		return Platform{}, fmt.Errorf("platform %q: expected OS/ARCHITECTURE[/VARIANT], such as linux/arm/v7", text)
	}
	parts := append(strings.Split(text, "/"), "")
	return Platform{OS: parts[0], Architecture: parts[1], Variant: parts[2]}, nil
}

// ParsePlatforms reads several, of which there has to be one.
func ParsePlatforms(texts []string) ([]Platform, error) {
	var all []Platform
	for _, text := range texts {
		one, err := ParsePlatform(text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(all, one) {
			return nil, fmt.Errorf("platform %q is given twice", text)
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no platform is given; expected at least one, such as %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return all, nil
}

// String is the form that ParsePlatform reads.
func (p Platform) String() string { return path.Join(p.OS, p.Architecture, p.Variant) }

// Folder is the name of the folder with the platform's binaries.
func (p Platform) Folder() string { return strings.ReplaceAll(p.String(), "/", "_") }
