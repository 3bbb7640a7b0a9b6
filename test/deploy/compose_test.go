package deploy_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

const composeFolder = "../../deploy/compose"

// secretsOfCompose are the variables without a value in example.env.
func secretsOfCompose() map[string]string {
	return map[string]string{
		"ANNOTATOR_ENCRYPTION_AUTH_SECRET": "0123456789abcdef0123456789abcdef",
		"APIMANAGER_CLIENT_SECRET":         "secret-of-private-backend",
	}
}

// loadCompose loads the compose file with example.env and further variables.
func loadCompose(t *testing.T, more map[string]string) (*types.Project, error) {
	t.Helper()
	var env []string
	for name, value := range more {
		env = append(env, name+"="+value)
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(composeFolder, "compose.yaml")},
		cli.WithEnv(env), cli.WithEnvFiles(filepath.Join(composeFolder, "example.env")), cli.WithDotEnv,
		cli.WithProfiles([]string{"*"}))
	require.NoError(t, err)
	return options.LoadProject(t.Context())
}

func TestCompose_requiresItsSecrets(t *testing.T) {
	t.Parallel()
	for name := range secretsOfCompose() {
		given := secretsOfCompose()
		delete(given, name)
		_, err := loadCompose(t, given)
		require.ErrorContains(t, err, name)
	}
	_, err := loadCompose(t, secretsOfCompose())
	require.NoError(t, err)
}

// example.env has exactly the variables of the file that have no default. Those that are required
// have no value there, the others have one.
func TestCompose_exampleHasEveryVariableWithoutADefault(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(composeFolder, "compose.yaml"))
	require.NoError(t, err)
	want, withDefault := map[string]bool{}, []string{}
	for _, match := range regexp.MustCompile(`\$\{([A-Z0-9_]+)(:\?|:-|\})`).FindAllStringSubmatch(string(text), -1) {
		if match[2] == ":-" {
			withDefault = append(withDefault, match[1])
			continue
		}
		want[match[1]] = match[2] != ":?"
	}
	require.Equal(t, strings.Count(string(text), "${"), len(regexp.MustCompile(`\$\{([A-Z0-9_]+)(:\?|:-|\})`).FindAllString(string(text), -1)))
	name := filepath.Join(composeFolder, "example.env")
	file, err := os.Open(name)
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	example, err := dotenv.Parse(file)
	require.NoError(t, err)
	has := map[string]bool{}
	for name, value := range example {
		has[name] = value != ""
	}
	require.Equal(t, want, has)
	require.ElementsMatch(t, slices.Collect(maps.Keys(secretsOfCompose())), func() (secrets []string) {
		for name, value := range example {
			if value == "" {
				secrets = append(secrets, name)
			}
		}
		return secrets
	}())
	described, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, name := range withDefault {
		require.Contains(t, string(described), name, "example.env names what can be set")
	}
}

func TestCompose_passesTheVariablesOfTheSpecificationOn(t *testing.T) {
	t.Parallel()
	names := []string{"DB_HOST", "DB_PORT", "DB_DATABASE", "DB_USER", "DB_PASSWORD",
		"ANNOTATOR_STANDALONE_MODE", "ANNOTATOR_RESTORE_STOPPED", "ANNOTATOR_LOG_LEVEL", "ANNOTATOR_LOG_TO_FILE",
		"ANNOTATOR_MQTT_INPUT_CLIENT_ID", "ANNOTATOR_MQTT_OUTPUT_CLIENT_ID", "ANNOTATOR_MQTT_ERROR_CLIENT_ID",
		"ANNOTATOR_MQTT_MONITOR_INPUT_CLIENT_ID", "ANNOTATOR_MQTT_MONITOR_OUTPUT_CLIENT_ID"}
	given := secretsOfCompose()
	for _, name := range names {
		given[name] = "the " + name
	}
	project, err := loadCompose(t, given)
	require.NoError(t, err)
	without, err := loadCompose(t, secretsOfCompose())
	require.NoError(t, err)
	for _, name := range names {
		require.Contains(t, project.Services["annotator"].Environment, name)
		require.Equal(t, "the "+name, *project.Services["annotator"].Environment[name])
		require.Empty(t, *without.Services["annotator"].Environment[name], "an empty value is none")
	}
}

func TestCompose_servicesHaveNoMoreRightsThanTheyNeed(t *testing.T) {
	t.Parallel()
	project, err := loadCompose(t, secretsOfCompose())
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"annotator", "modelrepo", "flcollector", "apimanager", "multilink"}, project.ServiceNames())
	for name, service := range project.Services {
		require.True(t, service.ReadOnly, name)
		require.Equal(t, []string{"ALL"}, service.CapDrop, name)
		require.Contains(t, service.SecurityOpt, "no-new-privileges:true", name)
		require.Equal(t, "iotenablers/"+name+":devel", service.Image)
		require.Empty(t, service.Entrypoint, name)
		require.Equal(t, "/data", service.Volumes[0].Target, name)
		if name == "multilink" {
			require.Equal(t, []string{"multilink"}, service.Profiles)
			require.Equal(t, []string{"NET_ADMIN", "NET_RAW"}, service.CapAdd)
			require.Equal(t, "0:65532", service.User, "root without rights over files writes to /data by its group")
			continue
		}
		require.Empty(t, service.CapAdd, name)
		require.Equal(t, "65532:65532", service.User, name)
		listed := map[uint32]bool{}
		for _, port := range service.Ports {
			require.Equal(t, "127.0.0.1", port.HostIP, name)
			listed[port.Target] = true
		}
		for _, port := range blocks()[name] {
			require.Truef(t, listed[uint32(port)], "%s publishes %d", name, port)
		}
	}
}

// runServices runs the commands with the environment of the services. Without a token of their own
// they make one.
func runServices(t *testing.T, folder string) {
	t.Helper()
	project, err := loadCompose(t, secretsOfCompose())
	require.NoError(t, err)
	for name, service := range project.Services {
		known := flagVariables(t, filepath.Join(folder, name))
		env := map[string]string{}
		for variable, value := range service.Environment {
			require.Truef(t, isStandard(variable) || slices.Contains(known, variable), "%s has no variable %s", name, variable)
			require.NotNil(t, value, variable)
			env[variable] = *value
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ready := map[bool]string{true: "/healthz", false: "/readyz"}[name == "multilink"]
			for variable, value := range maps.Clone(env) {
				switch {
				case strings.HasSuffix(variable, "_DATA"):
					env[variable] = t.TempDir()
				case strings.HasSuffix(variable, "_LISTEN"):
					env[variable] = "127.0.0.1:0"
				case variable == "PORT", variable == "FEDERATED_PORT":
					env[variable] = "0"
				case variable == "MULTILINK_ROLE":
					env["MULTILINK_ALLOW"] = allowsNoDevice
				case variable == "HOST":
					require.Equal(t, "0.0.0.0", value)
					env[variable] = "127.0.0.1"
				}
			}
			p := start(t, filepath.Join(folder, name), service.Command, env)
			p.await(t, func() error {
				found := p.addresses()["http"]
				if len(found) == 0 {
					return errors.New("it does not listen")
				}
				_, err := get(t.Context(), "http://"+found[0]+ready, "")
				return err
			})
			p.stop(t)
		})
	}
}
