package deploy_test

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// leastSets is how many sets of values besides the defaults there are at least.
const leastSets = 20

func TestChart_rendersValidObjects(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/values/*.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), leastSets+1)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendered := mustRender(t, name)
			checkNames(t, rendered)
			checkWorkloads(t, rendered)
			checkServices(t, rendered)
			checkSecurity(t, rendered)
			checkReferences(t, rendered)
			require.NotContains(t, rendered.notes, "<no value>")
		})
	}
}

// checkNames compares names, namespaces, labels and annotations with the rules of Kubernetes.
func checkNames(t *testing.T, r release) {
	t.Helper()
	require.NotEmpty(t, r.objects)
	seen := map[string]bool{}
	for _, object := range r.objects {
		m := objectMeta(t, object)
		id := object.GetObjectKind().GroupVersionKind().Kind + " " + m.GetName()
		require.Falsef(t, seen[id], "%s is there twice", id)
		seen[id] = true
		require.Equal(t, namespace, m.GetNamespace(), id)
		// The strictest of all kinds, which Services have.
		require.Empty(t, utilvalidation.IsDNS1035Label(m.GetName()), id)
		if _, is := object.(*appsv1.StatefulSet); is {
			require.LessOrEqual(t, len(m.GetName()), 52, "%s: its pods have a label of the name and a hash", id)
		}
		require.Empty(t, metavalidation.ValidateLabels(m.GetLabels(), field.NewPath("labels")), id)
		require.Empty(t, validation.ValidateAnnotations(m.GetAnnotations(), field.NewPath("annotations")), id)
		require.Equal(t, releaseName, m.GetLabels()["app.kubernetes.io/instance"], id)
		require.Equal(t, "Helm", m.GetLabels()["app.kubernetes.io/managed-by"], id)
	}
}

func checkWorkloads(t *testing.T, r release) {
	t.Helper()
	values, err := r.values.Table("Values")
	require.NoError(t, err)
	found := r.workloads()
	for block, ports := range blocks() {
		own, err := values.Table(block)
		require.NoError(t, err)
		w, there := found[block]
		require.Equal(t, own["enabled"], there, block)
		if !there {
			continue
		}
		if own["fleet"] == true {
			ports = maps.Clone(ports)
			ports["fleet"] = 9092
		}
		selector, err := metav1.LabelSelectorAsSelector(w.selector)
		require.NoError(t, err)
		require.Truef(t, selector.Matches(labels.Set(w.pod.Labels)), "%s selects its pods", block)
		require.Empty(t, metavalidation.ValidateLabels(w.pod.Labels, field.NewPath("labels")))
		require.Equal(t, false, *w.pod.Spec.EnableServiceLinks, block)
		require.Equal(t, false, *w.pod.Spec.AutomountServiceAccountToken, block)
		require.NotEmpty(t, w.pod.Annotations["checksum/config"], block)

		require.Len(t, w.pod.Spec.Containers, 1)
		container := w.pod.Spec.Containers[0]
		require.True(t, *container.SecurityContext.ReadOnlyRootFilesystem, block)
		require.Empty(t, container.Command, "the image's entry point is the command")
		listed := map[string]int32{}
		for _, port := range container.Ports {
			require.Empty(t, utilvalidation.IsValidPortName(port.Name), block)
			if port.Protocol == corev1.ProtocolTCP {
				listed[port.Name] = port.ContainerPort
			}
		}
		require.Equal(t, ports, listed, block)
		for path, probe := range map[string]*corev1.Probe{
			"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe,
		} {
			require.Equal(t, path, probe.HTTPGet.Path, block)
			require.Equal(t, blockHealth(block), probe.HTTPGet.Port.StrVal, block)
		}
		require.Equal(t, "/healthz", container.StartupProbe.HTTPGet.Path, block)
		checkVolumes(t, w)
	}
}

// checkVolumes has each mount compared with a volume, and /data and /tmp writable.
func checkVolumes(t *testing.T, w workload) {
	t.Helper()
	volumes := map[string]bool{}
	for _, volume := range w.pod.Spec.Volumes {
		require.Falsef(t, volumes[volume.Name], "volume %s is there twice", volume.Name)
		volumes[volume.Name] = true
	}
	for _, claim := range w.claims {
		require.Falsef(t, volumes[claim.Name], "volume %s is there twice", claim.Name)
		volumes[claim.Name] = true
	}
	writable := map[string]bool{}
	for _, mount := range w.pod.Spec.Containers[0].VolumeMounts {
		require.Truef(t, volumes[mount.Name], "%s: no volume %s", w.block, mount.Name)
		writable[mount.MountPath] = !mount.ReadOnly
	}
	require.True(t, writable["/data"] && writable["/tmp"], w.block)
	require.False(t, writable["/etc/enablers"], w.block)
	if w.kind == "Deployment" {
		require.Empty(t, w.claims, "%s: pods that share a store have no volumes", w.block)
	} else if w.replicas != nil {
		require.LessOrEqual(t, *w.replicas, int32(1), w.block)
	}
}

// checkServices compares the Services with the ports of the pods that they select.
func checkServices(t *testing.T, r release) {
	t.Helper()
	pods := r.workloads()
	nodePorts := map[int32]bool{}
	for _, service := range of[*corev1.Service](r) {
		selector, selected := labels.SelectorFromSet(service.Spec.Selector), 0
		for _, w := range pods {
			if !selector.Matches(labels.Set(w.pod.Labels)) {
				continue
			}
			selected++
			targets := map[string]corev1.ContainerPort{}
			for _, port := range w.pod.Spec.Containers[0].Ports {
				targets[port.Name] = port
			}
			for _, port := range service.Spec.Ports {
				target, there := targets[port.TargetPort.StrVal]
				require.Truef(t, there, "%s: no port %s", service.Name, port.TargetPort.StrVal)
				require.Equal(t, target.ContainerPort, port.Port)
				require.Equal(t, target.Protocol, port.Protocol)
				if port.NodePort != 0 {
					require.NotEqual(t, corev1.ServiceTypeClusterIP, service.Spec.Type)
					require.True(t, port.NodePort >= 30000 && port.NodePort <= 32767, "%d", port.NodePort)
					require.False(t, nodePorts[port.NodePort], "%d is there twice", port.NodePort)
					nodePorts[port.NodePort] = true
				}
				if port.Name == "admin" {
					require.Equal(t, corev1.ServiceTypeClusterIP, service.Spec.Type, "the admin API is not exposed")
				}
			}
		}
		require.Equal(t, 1, selected, service.Name)
	}
}

// checkSecurity has each pod pass the restricted level of pod security, but for multi-link's,
// which passes only as privileged.
func checkSecurity(t *testing.T, r release) {
	t.Helper()
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	forbidden := func(level api.Level, m metav1.ObjectMeta, spec corev1.PodSpec) string {
		result := policy.AggregateCheckResults(evaluator.EvaluatePod(
			api.LevelVersion{Level: level, Version: api.LatestVersion()}, &m, &spec))
		if result.Allowed {
			return ""
		}
		return result.ForbiddenDetail()
	}
	for block, w := range r.workloads() {
		if block == "multilink" {
			require.NotEmpty(t, forbidden(api.LevelBaseline, w.pod.ObjectMeta, w.pod.Spec))
			require.Empty(t, forbidden(api.LevelPrivileged, w.pod.ObjectMeta, w.pod.Spec))
			require.Nil(t, w.pod.Spec.Containers[0].SecurityContext.Privileged)
			require.Equal(t, []corev1.Capability{"NET_ADMIN", "NET_RAW"}, w.pod.Spec.Containers[0].SecurityContext.Capabilities.Add)
			continue
		}
		require.Empty(t, forbidden(api.LevelRestricted, w.pod.ObjectMeta, w.pod.Spec), block)
		require.Equal(t, int64(65532), *w.pod.Spec.SecurityContext.RunAsUser, block)
	}
	tests := of[*corev1.Pod](r)
	require.Len(t, tests, len(r.workloads()))
	for _, pod := range tests {
		require.Empty(t, forbidden(api.LevelRestricted, pod.ObjectMeta, pod.Spec), pod.Name)
		require.Equal(t, "test", pod.Annotations["helm.sh/hook"])
	}
}

// checkReferences looks for what objects name in the others.
func checkReferences(t *testing.T, r release) {
	t.Helper()
	services := map[string]map[string]bool{}
	for _, service := range of[*corev1.Service](r) {
		services[service.Name] = map[string]bool{}
		for _, port := range service.Spec.Ports {
			services[service.Name][port.Name] = true
		}
	}
	for _, ingress := range of[*networkingv1.Ingress](r) {
		for _, rule := range ingress.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				require.Truef(t, services[path.Backend.Service.Name][path.Backend.Service.Port.Name], "%s: %v", ingress.Name, path)
			}
		}
	}
	for _, budget := range of[*policyv1.PodDisruptionBudget](r) {
		requireSelectsOne(t, r, budget.Name, budget.Spec.Selector)
	}
	for _, rules := range of[*networkingv1.NetworkPolicy](r) {
		requireSelectsOne(t, r, rules.Name, &rules.Spec.PodSelector)
	}
	for _, w := range r.workloads() {
		env, elsewhere := r.environment(t, w)
		require.NotEmpty(t, env)
		for _, volume := range w.pod.Spec.Volumes {
			if volume.Secret == nil {
				continue
			}
			for _, secret := range of[*corev1.Secret](r) {
				if secret.Name == volume.Secret.SecretName {
					require.Contains(t, secret.Data, volume.Secret.Items[0].Key)
					for _, from := range elsewhere {
						require.NotEqual(t, secret.Name, from.Name)
					}
				}
			}
		}
	}
}

func requireSelectsOne(t *testing.T, r release, name string, by *metav1.LabelSelector) {
	t.Helper()
	selector, err := metav1.LabelSelectorAsSelector(by)
	require.NoError(t, err)
	selected := 0
	for _, w := range r.workloads() {
		if selector.Matches(labels.Set(w.pod.Labels)) {
			selected++
		}
	}
	require.Equal(t, 1, selected, name)
}

func TestChart_refusesWrongValues(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/refused/*.yaml")
	require.NoError(t, err)
	want := map[string]string{
		"a-typo-at-the-top":            "anotator",
		"a-typo-in-a-block":            "encriptionSecret",
		"a-typo-in-a-service":          "rest",
		"a-typo-in-the-config":         "REPOSITORY_ADRESS",
		"a-short-encryption-secret":    "encryptionSecret",
		"an-idp-without-auth":          "/auth/",
		"a-node-port-out-of-range":     "30,000",
		"an-ingress-without-a-host":    "/ingress/host",
		"a-route-without-a-host":       "/route/host",
		"a-store-that-is-a-folder":     "/modelrepo/store",
		"replicas-that-share-no-store": "modelrepo.store",
		"text-for-a-switch":            "/networkPolicy/enabled",
		"an-annotator-with-two-stores": "annotator.db.host",
		"gateways-without-a-manager":   "gateway.controlPlane",
		"less-time-than-a-pod-needs":   "terminationGracePeriodSeconds is 60: a pod needs 115",
		"a-variable-without-its-key":   "/modelrepo/secretEnv",
	}
	require.Len(t, files, len(want))
	for _, file := range files {
		_, err := render(t, readValues(t, file))
		require.ErrorContains(t, err, want[strings.TrimSuffix(filepath.Base(file), ".yaml")], file)
	}
}
