package deploy_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "../../deploy/helm/enablers"
	releaseName = "edge"
	namespace   = "plant"
	podIP       = "192.0.2.1"
)

// version is that of the chart, of compose and of the images of a checkout.
const version = "devel"

// blockCommand is the command of a block, and the name of its image.
func blockCommand(block string) string {
	if block == "gateway" {
		return "apimanager"
	}
	return block
}

// blockHealth is the port where a block answers probes.
func blockHealth(block string) string {
	if block == "gateway" {
		return "admin"
	}
	return "http"
}

// blocks are the blocks of the chart with their ports.
func blocks() map[string]map[string]int32 {
	return map[string]map[string]int32{
		"annotator":   {"http": 8080},
		"modelrepo":   {"http": 8081},
		"flcollector": {"http": 8000, "grpc": 8088},
		"apimanager":  {"http": 8999, "gateway": 8100, "admin": 8101},
		"gateway":     {"gateway": 8100, "admin": 8101},
		"multilink":   {"http": 3333},
	}
}

// release is a rendered chart.
type release struct {
	values  common.Values
	objects []runtime.Object
	notes   string
}

// readValues reads a file of values.
func readValues(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	values := map[string]any{}
	require.NoError(t, yaml.UnmarshalStrict(text, &values))
	return values
}

func loadChart(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(chartFolder)
	require.NoError(t, err)
	require.NoError(t, loaded.Validate())
	return loaded
}

// prepare checks values against the schema and returns what templates are given. Within tests Helm
// pretends to be of Kubernetes 1.20, so the version is stated.
func prepare(loaded *chart.Chart, values map[string]any) (common.Values, error) {
	version, err := common.ParseKubeVersion("v1.37.2")
	if err != nil {
		return nil, err
	}
	able := common.DefaultCapabilities.Copy()
	able.KubeVersion = *version
	return commonutil.ToRenderValues(loaded, values,
		common.ReleaseOptions{Name: releaseName, Namespace: namespace, Revision: 1, IsInstall: true}, able)
}

// render renders the chart strictly: a value that is not there is an error.
func render(t *testing.T, values map[string]any) (release, error) {
	t.Helper()
	loaded := loadChart(t)
	given, err := prepare(loaded, values)
	if err != nil {
		return release{}, err
	}
	files, err := engine.Engine{Strict: true}.Render(loaded, given)
	if err != nil {
		return release{}, err
	}
	return read(t, given, files), nil
}

// read decodes all objects. Unknown and repeated fields fail.
func read(t *testing.T, values common.Values, files map[string]string) release {
	t.Helper()
	known := runtime.NewScheme()
	require.NoError(t, scheme.AddToScheme(known))
	require.NoError(t, gatewayv1.Install(known))
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	rendered := release{values: values}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			rendered.notes = files[name]
			continue
		}
		documents := kubeyaml.NewDocumentDecoder(io.NopCloser(strings.NewReader(files[name])))
		buffer := make([]byte, 1<<20)
		for {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err, name)
			text := buffer[:n]
			if len(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("---")))) == 0 {
				continue
			}
			object, _, err := decoder.Decode(text, nil, nil)
			require.NoErrorf(t, err, "%s:\n%s", name, text)
			rendered.objects = append(rendered.objects, object)
		}
	}
	return rendered
}

func mustRender(t *testing.T, file string) release {
	t.Helper()
	rendered, err := render(t, readValues(t, filepath.Join("testdata", "values", file+".yaml")))
	require.NoError(t, err)
	return rendered
}

// of returns the objects of one type.
func of[T runtime.Object](r release) []T {
	var list []T
	for _, object := range r.objects {
		if typed, is := object.(T); is {
			list = append(list, typed)
		}
	}
	return list
}

// named returns the object of one type with a name.
func named[T runtime.Object](t *testing.T, r release, name string) T {
	t.Helper()
	for _, object := range of[T](r) {
		if objectMeta(t, object).GetName() == name {
			return object
		}
	}
	var zero T
	require.Failf(t, "no such object", "%T %s", zero, name)
	return zero
}

func objectMeta(t *testing.T, object runtime.Object) metav1.Object {
	t.Helper()
	found, err := meta.Accessor(object)
	require.NoError(t, err)
	return found
}

// workload is a Deployment or a StatefulSet.
type workload struct {
	object   metav1.Object
	block    string
	kind     string
	replicas *int32
	selector *metav1.LabelSelector
	pod      corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

func (r release) workloads() map[string]workload {
	found := map[string]workload{}
	add := func(w workload) {
		w.block = w.pod.Labels["app.kubernetes.io/component"]
		found[w.block] = w
	}
	for _, d := range of[*appsv1.Deployment](r) {
		add(workload{object: d, kind: "Deployment", replicas: d.Spec.Replicas, selector: d.Spec.Selector, pod: d.Spec.Template})
	}
	for _, s := range of[*appsv1.StatefulSet](r) {
		add(workload{object: s, kind: "StatefulSet", replicas: s.Spec.Replicas, selector: s.Spec.Selector, pod: s.Spec.Template,
			claims: s.Spec.VolumeClaimTemplates})
	}
	return found
}

// environment returns what a workload's container is given. Keys of Secrets that are not rendered
// are left out; they are in the second result.
func (r release) environment(t *testing.T, w workload) (env map[string]string, elsewhere map[string]corev1.SecretKeySelector) {
	t.Helper()
	env, elsewhere = map[string]string{}, map[string]corev1.SecretKeySelector{}
	container := w.pod.Spec.Containers[0]
	for _, from := range container.EnvFrom {
		maps.Copy(env, named[*corev1.ConfigMap](t, r, from.ConfigMapRef.Name).Data)
	}
	secrets := map[string]*corev1.Secret{}
	for _, secret := range of[*corev1.Secret](r) {
		secrets[secret.Name] = secret
	}
	for _, variable := range container.Env {
		if variable.ValueFrom == nil {
			env[variable.Name] = strings.ReplaceAll(variable.Value, "$(POD_IP)", podIP)
			continue
		}
		if variable.ValueFrom.FieldRef != nil {
			require.Equal(t, "POD_IP", variable.Name, "it is only for other variables")
			continue
		}
		from := *variable.ValueFrom.SecretKeyRef
		secret, rendered := secrets[from.Name]
		if !rendered {
			elsewhere[variable.Name] = from
			continue
		}
		value, has := secret.Data[from.Key]
		require.Truef(t, has, "the Secret %s has no key %s for %s", from.Name, from.Key, variable.Name)
		env[variable.Name] = string(value)
	}
	return env, elsewhere
}
