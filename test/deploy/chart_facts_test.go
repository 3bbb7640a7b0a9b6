package deploy_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// readEnvironment renders a file of values and returns the environment of a block.
func readEnvironment(t *testing.T, file, block string) map[string]string {
	t.Helper()
	r := mustRender(t, file)
	env, _ := r.environment(t, r.workloads()[block])
	return env
}

func portNumbers(s *corev1.Service) map[string]int32 {
	ports := map[string]int32{}
	for _, port := range s.Spec.Ports {
		ports[port.Name] = port.NodePort
	}
	return ports
}

func TestChart_defaultsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "defaults")
	require.Len(t, r.workloads(), 4, "multi-link and gateways are off")
	service := named[*corev1.Service](t, r, "edge-enablers-flcollector")
	require.Equal(t, corev1.ServiceTypeNodePort, service.Spec.Type)
	require.Equal(t, map[string]int32{"http": 30800, "grpc": 30808}, portNumbers(service))
	config := named[*corev1.ConfigMap](t, r, "edge-enablers-flcollector").Data
	require.Contains(t, config, "REPOSITORY_ADDRESS")
	require.Contains(t, config, "ORCHESTRATOR_ADDRESS")
	for block, w := range r.workloads() {
		require.Equal(t, "StatefulSet", w.kind, block)
		require.Len(t, w.claims, 1, block)
		require.Equal(t, "iotenablers/"+block+":"+version, w.pod.Spec.Containers[0].Image)
	}
	require.Empty(t, of[*networkingv1.NetworkPolicy](r))
	require.Empty(t, of[*policyv1.PodDisruptionBudget](r))
	require.Empty(t, of[*autoscalingv2.HorizontalPodAutoscaler](r))
	require.Empty(t, of[*networkingv1.Ingress](r))
	require.Empty(t, of[*gatewayv1.HTTPRoute](r))
}

func TestChart_resources_limitTheMemoryOfEveryBlock(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, file := range []string{"defaults", "gateways-that-follow-the-manager", "multilink-server-on-the-host"} {
		for block, w := range mustRender(t, file).workloads() {
			seen[block] = true
			resources := w.pod.Spec.Containers[0].Resources
			require.Positive(t, resources.Limits.Memory().Value(), block)
			require.GreaterOrEqual(t, resources.Limits.Memory().Value(), resources.Requests.Memory().Value(), block)
		}
	}
	require.Len(t, seen, 6)
}

func TestChart_resources_limitTheHeapBelowTheMemory(t *testing.T) {
	t.Parallel()
	limits := map[string]string{}
	for _, file := range []string{"defaults", "multilink-server-on-the-host", "memory-of-other-sizes"} {
		r := mustRender(t, file)
		for block, w := range r.workloads() {
			env, _ := r.environment(t, w)
			limits[file+" "+block] = env["GOMEMLIMIT"]
		}
	}
	require.Subset(t, limits, map[string]string{
		"defaults annotator":                     "966367641",
		"defaults flcollector":                   "3865470566",
		"multilink-server-on-the-host multilink": "483183820",
		"memory-of-other-sizes annotator":        "1350000000",
		"memory-of-other-sizes modelrepo":        "", // without a limit
		"memory-of-other-sizes flcollector":      "2415919104",
		"memory-of-other-sizes apimanager":       "1800000000",
		"memory-of-other-sizes gateway":          "500MiB", // of its own
	})
}

func TestChart_config_givesTheCollectorItsNeighboursAndANewPod(t *testing.T) {
	t.Parallel()
	before, after := mustRender(t, "defaults"), mustRender(t, "only-collector-with-neighbours")
	env, _ := after.environment(t, after.workloads()["flcollector"])
	require.Equal(t, "http://flrepository:9012", env["REPOSITORY_ADDRESS"])
	require.Equal(t, "http://fl-orchestrator-app:5000", env["ORCHESTRATOR_ADDRESS"])
	sum := func(r release) string { return r.workloads()["flcollector"].pod.Annotations["checksum/config"] }
	require.NotEqual(t, sum(before), sum(after))
	require.Equal(t, sum(before), sum(mustRender(t, "disruption-budgets")), "another block's values do not replace the pod")
	require.Len(t, after.workloads(), 1)
}

func TestChart_nodePorts_canBeOthersOrNone(t *testing.T) {
	t.Parallel()
	service := func(file string) *corev1.Service {
		return named[*corev1.Service](t, mustRender(t, file), "edge-enablers-flcollector")
	}
	require.Equal(t, map[string]int32{"http": 31800, "grpc": 31808}, portNumbers(service("collector-other-node-ports")))
	require.Equal(t, map[string]int32{"http": 0, "grpc": 0}, portNumbers(service("collector-inside-the-cluster")))
	require.Equal(t, map[string]int32{"http": 30800, "grpc": 30808, "fleet": 30992}, portNumbers(service("collector-with-supernodes")))
	env := readEnvironment(t, "collector-with-supernodes", "flcollector")
	require.Equal(t, []string{":9092", "/etc/enablers-files", "/etc/enablers-files/keys"},
		[]string{env["FLCOLLECTOR_FLEET"], env["FLCOLLECTOR_APPS"], env["FLCOLLECTOR_FLEET_KEYS"]})
	require.Equal(t, "none", readEnvironment(t, "collector-inside-the-cluster", "flcollector")["FLCOLLECTOR_GRPC_ACCESS"])
}

func TestChart_annotator_hasBrokersSecretAndDatabase(t *testing.T) {
	t.Parallel()
	env := readEnvironment(t, "annotator-brokers-and-secret", "annotator")
	require.Equal(t, "0123456789abcdef0123456789abcdef", env["ANNOTATOR_ENCRYPTION_AUTH_SECRET"])
	require.Equal(t, []string{"ssl", "mqtt.example.org", "8883", "kafka.example.org", "9092"}, []string{
		env["ANNOTATOR_MQTT_PROTOCOL"], env["ANNOTATOR_MQTT_HOST"], env["ANNOTATOR_MQTT_PORT"],
		env["ANNOTATOR_KAFKA_HOST"], env["ANNOTATOR_KAFKA_PORT"]})
	require.NotContains(t, env, "DB_HOST", "a DB_ setting would mean MongoDB")

	r := mustRender(t, "annotator-on-mongodb-three-replicas")
	w := r.workloads()["annotator"]
	env, _ = r.environment(t, w)
	require.Equal(t, "Deployment", w.kind)
	require.Equal(t, int32(3), *w.replicas)
	require.Equal(t, []string{"mongodb", "27018", "channels", "annotator", "a-password"},
		[]string{env["DB_HOST"], env["DB_PORT"], env["DB_DATABASE"], env["DB_USER"], env["DB_PASSWORD"]})
}

// Nothing that is secret is in an object other than a Secret.
func TestChart_secretsAreInSecretsOnly(t *testing.T) {
	t.Parallel()
	for file, secrets := range map[string][]string{
		"annotator-brokers-and-secret":        {"0123456789abcdef0123456789abcdef"},
		"annotator-on-mongodb-three-replicas": {"a-password"},
		"modelrepo-on-mongodb-and-s3":         {"a-password", "a-secret"},
		"apimanager-with-keycloak":            {"secret-of-private-backend"},
		"gateways-of-a-manager-elsewhere":     {"token-of-an-administrator"},
	} {
		r := mustRender(t, file)
		inSecrets := ""
		for _, object := range r.objects {
			text, err := json.Marshal(object)
			if secret, is := object.(*corev1.Secret); is {
				for _, value := range secret.Data {
					inSecrets += string(value)
				}
				continue
			}
			require.NoError(t, err)
			for _, secret := range secrets {
				require.NotContains(t, string(text), secret, file)
				require.NotContains(t, string(text), base64.StdEncoding.EncodeToString([]byte(secret)), file)
			}
		}
		for _, secret := range secrets {
			require.Contains(t, inSecrets, secret, file)
			require.NotContains(t, r.notes, secret, file)
		}
	}
}

func TestChart_existingSecret_isUsedAndNoneIsMade(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "secrets-that-exist")
	require.Empty(t, of[*corev1.Secret](r))
	keys := map[string][]string{}
	for block, w := range r.workloads() {
		_, elsewhere := r.environment(t, w)
		for _, from := range elsewhere {
			require.Equal(t, "my-"+block, from.Name)
			if from.Optional == nil || !*from.Optional {
				keys[block] = append(keys[block], from.Key)
			}
		}
		for _, volume := range w.pod.Spec.Volumes {
			if volume.Secret != nil {
				require.Equal(t, "my-"+block, volume.Secret.SecretName)
			}
		}
		require.NotContains(t, w.pod.Annotations, "checksum/secret", "it may change at any time; the pod does not know")
	}
	require.Equal(t, []string{"encryption-secret"}, keys["annotator"])
	require.ElementsMatch(t, []string{"store", "blobs"}, keys["modelrepo"])
	require.Equal(t, []string{"client-secret"}, keys["apimanager"])
}

// cluster is the Secrets that a release finds.
type cluster struct{ client dynamic.Interface }

func (c cluster) GetClientFor(_, _ string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}), true, nil
}

func TestChart_generatedSecrets_surviveAnUpgrade(t *testing.T) {
	t.Parallel()
	loaded := loadChart(t)
	values, err := prepare(loaded, map[string]any{})
	require.NoError(t, err)
	install := func(secrets ...runtime.Object) release {
		files, err := engine.RenderWithClientProvider(loaded, values, cluster{fake.NewSimpleDynamicClient(scheme.Scheme, secrets...)})
		require.NoError(t, err)
		return read(t, values, files)
	}
	first := install()
	var kept []runtime.Object
	for _, secret := range of[*corev1.Secret](first) {
		kept = append(kept, secret)
	}
	require.Len(t, kept, 4)
	// The chart remembers what it made in its values, so an upgrade has its own.
	values, err = prepare(loaded, map[string]any{})
	require.NoError(t, err)
	second := install(kept...)
	values, err = prepare(loaded, map[string]any{})
	require.NoError(t, err)
	other := install()
	for _, secret := range of[*corev1.Secret](first) {
		require.Equal(t, secret.Data, named[*corev1.Secret](t, second, secret.Name).Data)
		require.NotEqual(t, secret.Data, named[*corev1.Secret](t, other, secret.Name).Data, "without a cluster they are new")
	}
	for block, w := range first.workloads() {
		require.Equal(t, w.pod.Annotations, second.workloads()[block].pod.Annotations, "an upgrade without changes replaces no pod")
	}
}

func TestChart_store_makesPodsThatShareIt(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "everything-shared-and-scaled")
	scaled := map[string]bool{}
	for _, scaler := range of[*autoscalingv2.HorizontalPodAutoscaler](r) {
		target := scaler.Spec.ScaleTargetRef
		require.Equal(t, "Deployment", target.Kind)
		require.Equal(t, int32(8), scaler.Spec.MaxReplicas)
		scaled[named[*appsv1.Deployment](t, r, target.Name).Labels["app.kubernetes.io/component"]] = true
	}
	require.Equal(t, map[string]bool{"annotator": true, "modelrepo": true, "apimanager": true}, scaled)
	for block, w := range r.workloads() {
		require.Equal(t, "Deployment", w.kind, block)
		require.Equal(t, scaled[block], w.replicas == nil, "what is scaled states no number")
		require.NotEmpty(t, w.pod.Spec.Containers[0].Resources.Requests.Cpu().String(), "a scaler needs a request")
	}
	require.Equal(t, int32(2), *r.workloads()["flcollector"].replicas)
	env, _ := r.environment(t, r.workloads()["flcollector"])
	require.Equal(t, podIP+":8088", env["FLCOLLECTOR_ADVERTISE"], "where collectors relay clients to each other")
	require.NotContains(t, readEnvironment(t, "defaults", "flcollector"), "FLCOLLECTOR_ADVERTISE")
	require.Empty(t, of[*autoscalingv2.HorizontalPodAutoscaler](mustRender(t, "autoscaling-without-a-store-scales-nothing")))
	require.Contains(t, mustRender(t, "autoscaling-without-a-store-scales-nothing").notes, "Set modelrepo.store")
}

func TestChart_apimanager_knowsItsAddressesAndIdentityProvider(t *testing.T) {
	t.Parallel()
	env := readEnvironment(t, "apimanager-with-keycloak", "apimanager")
	require.Equal(t, "https://keycloak.example.org/auth/", env["APIMANAGER_IDP"])
	require.Equal(t, "secret-of-private-backend", env["APIMANAGER_CLIENT_SECRET"])
	require.Equal(t, "https://apis.example.org", env["APIMANAGER_PORTAL_URL"])
	env = readEnvironment(t, "ingress-with-tls", "apimanager")
	require.Equal(t, "https://apimanager.edge.example.org", env["APIMANAGER_PORTAL_URL"])
	require.Equal(t, "https://gateway.edge.example.org", env["APIMANAGER_GATEWAY_URL"])
	require.Equal(t, "http://edge-enablers-apimanager.plant.svc:8999", readEnvironment(t, "defaults", "apimanager")["APIMANAGER_PORTAL_URL"])
}

func TestChart_outside_hasANameForEachBlock(t *testing.T) {
	t.Parallel()
	want := []string{"annotator.edge.example.org", "apimanager.edge.example.org", "flcollector.edge.example.org",
		"gateway.edge.example.org", "modelrepo.edge.example.org"}
	var byIngress, byRoute []string
	for _, ingress := range of[*networkingv1.Ingress](mustRender(t, "ingress-with-tls")) {
		var hosts []string
		for _, rule := range ingress.Spec.Rules {
			hosts = append(hosts, rule.Host)
		}
		require.ElementsMatch(t, hosts, ingress.Spec.TLS[0].Hosts)
		byIngress = append(byIngress, hosts...)
	}
	r := mustRender(t, "route-of-a-gateway")
	for _, route := range of[*gatewayv1.HTTPRoute](r) {
		require.Equal(t, gatewayv1.ObjectName("edge"), route.Spec.ParentRefs[0].Name)
		for _, host := range route.Spec.Hostnames {
			byRoute = append(byRoute, string(host))
		}
		behind := route.Spec.Rules[0].BackendRefs[0]
		ports := []int32{}
		for _, port := range named[*corev1.Service](t, r, string(behind.Name)).Spec.Ports {
			ports = append(ports, port.Port)
		}
		require.Contains(t, ports, *behind.Port)
	}
	require.ElementsMatch(t, want, byIngress)
	require.ElementsMatch(t, want, byRoute)
}

func TestChart_networkPolicy_letsInWhatIsServed(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "network-policies")
	require.Len(t, of[*networkingv1.NetworkPolicy](r), 5)
	open := func(block string) (ports []string) {
		for _, rule := range named[*networkingv1.NetworkPolicy](t, r, "edge-enablers-"+block).Spec.Ingress {
			for _, port := range rule.Ports {
				if len(rule.From) == 0 {
					ports = append(ports, port.Port.String())
				}
			}
		}
		return ports
	}
	require.ElementsMatch(t, []string{"http", "grpc"}, open("flcollector"), "its node ports")
	require.Empty(t, open("annotator"))
	require.Empty(t, open("apimanager"), "the admin API is for the namespace")
	require.Equal(t, []string{"51820"}, open("multilink"))
	policy := named[*networkingv1.NetworkPolicy](t, r, "edge-enablers-annotator").Spec
	require.Len(t, policy.Ingress[0].From, 2)
	require.Contains(t, policy.PolicyTypes, networkingv1.PolicyTypeEgress)
	require.Len(t, policy.Egress, 3)
}

func TestChart_networkPolicy_opensNoMoreThanAnIngressNeeds(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "an-ingress-opens-its-ports-alone")
	open := map[string][]string{}
	for _, policy := range of[*networkingv1.NetworkPolicy](r) {
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				if len(rule.From) == 0 {
					open[policy.Labels["app.kubernetes.io/component"]] = append(open[policy.Labels["app.kubernetes.io/component"]], port.Port.String())
				}
			}
		}
	}
	require.Equal(t, map[string][]string{
		"annotator": {"http"}, "modelrepo": {"http"}, "flcollector": {"http"}, "apimanager": {"gateway", "http"},
	}, open, "Flower clients do not come through an ingress")
}

func TestChart_gateway_followsTheManager(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "gateways-that-follow-the-manager")
	w := r.workloads()["gateway"]
	require.Equal(t, "Deployment", w.kind)
	require.Equal(t, int32(3), *w.replicas)
	require.Equal(t, "iotenablers/apimanager:"+version, w.pod.Spec.Containers[0].Image)
	env, elsewhere := r.environment(t, w)
	require.Empty(t, elsewhere)
	manager, _ := r.environment(t, r.workloads()["apimanager"])
	require.Equal(t, "http://edge-enablers-apimanager-admin.plant.svc:8101", env["APIMANAGER_CONTROL_PLANE"])
	require.Equal(t, manager["APIMANAGER_ADMIN_TOKEN"], env["APIMANAGER_CONTROL_PLANE_TOKEN"])
	require.Equal(t, manager["APIMANAGER_PORTAL_URL"], env["APIMANAGER_PORTAL_URL"], "whose pages may call it")
	require.Equal(t, "http://edge-enablers-gateway.plant.svc:8100", manager["APIMANAGER_GATEWAY_URL"])
	require.Equal(t, []string{"true", "true"}, []string{env["APIMANAGER_PRIVATE_UPSTREAMS"], manager["APIMANAGER_PRIVATE_UPSTREAMS"]})
	require.Equal(t, map[string]int32{"gateway": 30810}, portNumbers(named[*corev1.Service](t, r, "edge-enablers-gateway")))
	require.NotContains(t, r.notes, "privateUpstreams")
	require.Contains(t, mustRender(t, "defaults").notes, "Set\napimanager.privateUpstreams")

	r = mustRender(t, "gateways-of-a-manager-elsewhere")
	require.Len(t, r.workloads(), 1)
	env, _ = r.environment(t, r.workloads()["gateway"])
	require.Equal(t, "https://manager.example.org:8101", env["APIMANAGER_CONTROL_PLANE"])
	require.Equal(t, "token-of-an-administrator", env["APIMANAGER_CONTROL_PLANE_TOKEN"])
	require.Len(t, of[*autoscalingv2.HorizontalPodAutoscaler](r), 1)
	routes := of[*gatewayv1.HTTPRoute](r)
	require.Len(t, routes, 1)
	require.Equal(t, gatewayv1.Hostname("gateway.edge.example.org"), routes[0].Spec.Hostnames[0])
}

func TestChart_tls_isSpokenByServersAndProbes(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "certificates-and-further-secrets")
	for block, w := range r.workloads() {
		container := w.pod.Spec.Containers[0]
		env, elsewhere := r.environment(t, w)
		secure := block != "modelrepo" && block != "gateway"
		scheme := map[bool]corev1.URIScheme{true: corev1.URISchemeHTTPS, false: corev1.URISchemeHTTP}[secure]
		for _, probe := range []*corev1.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
			require.Equal(t, scheme, probe.HTTPGet.Scheme, block)
		}
		at := map[string]string{} // where Secrets are mounted
		for _, volume := range w.pod.Spec.Volumes {
			for _, mount := range container.VolumeMounts {
				if mount.Name == volume.Name && volume.Secret != nil {
					at[mount.MountPath] = volume.Secret.SecretName
				}
			}
		}
		if secure {
			require.Equal(t, block+"-tls", at["/etc/enablers-tls"])
			require.Equal(t, "/etc/enablers-tls/tls.crt", env[strings.ToUpper(block)+"_TLS_CERT"])
			require.Equal(t, "/etc/enablers-tls/tls.key", env[strings.ToUpper(block)+"_TLS_KEY"])
		}
		switch block {
		case "annotator":
			require.Equal(t, "brokers", at["/etc/enablers-files"])
			require.Equal(t, "traces", elsewhere["OTEL_EXPORTER_OTLP_HEADERS"].Name)
			require.Equal(t, "headers", elsewhere["OTEL_EXPORTER_OTLP_HEADERS"].Key)
		case "flcollector":
			require.Equal(t, "repository", elsewhere["FLCOLLECTOR_REPOSITORY_TOKEN"].Name)
			require.NotContains(t, env, "FLCOLLECTOR_ADVERTISE", "no certificate has the addresses of pods")
		case "gateway":
			require.Equal(t, "https://edge-enablers-apimanager-admin.plant.svc:8101", env["APIMANAGER_CONTROL_PLANE"])
			require.Equal(t, "authorities", at["/etc/enablers-files"])
		}
	}
	tests := map[string]string{}
	for _, pod := range of[*corev1.Pod](r) {
		command := pod.Spec.Containers[0].Command
		tests[pod.Name] = command[len(command)-1]
	}
	require.Equal(t, "https://edge-enablers-annotator:8080/readyz", tests["edge-enablers-annotator-test"])
	require.Equal(t, "http://edge-enablers-gateway-admin:8101/readyz", tests["edge-enablers-gateway-test"])
}

func TestChart_disruptionBudget_letsANodeBeDrained(t *testing.T) {
	t.Parallel()
	budgets := of[*policyv1.PodDisruptionBudget](mustRender(t, "disruption-budgets"))
	require.Len(t, budgets, 4)
	for _, budget := range budgets {
		require.Nil(t, budget.Spec.MinAvailable)
		require.Equal(t, 1, budget.Spec.MaxUnavailable.IntValue())
	}
}

func TestChart_persistence_isAClaimAnEmptyFolderOrOneThatExists(t *testing.T) {
	t.Parallel()
	for block, w := range mustRender(t, "without-volumes").workloads() {
		require.Empty(t, w.claims, block)
	}
	r := mustRender(t, "volumes-of-a-class-and-a-claim").workloads()
	claim := r["modelrepo"].claims[0].Spec
	require.Equal(t, "fast", *claim.StorageClassName)
	require.Equal(t, "50Gi", claim.Resources.Requests.Storage().String())
	require.Empty(t, r["flcollector"].claims)
	found := ""
	for _, volume := range r["flcollector"].pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			found = volume.PersistentVolumeClaim.ClaimName
		}
	}
	require.Equal(t, "trainings", found)
}

func TestChart_multilink_namesItsException(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "multilink-server-on-the-host")
	w := r.workloads()["multilink"]
	require.True(t, w.pod.Spec.HostNetwork)
	require.Equal(t, map[string]string{"edge": "yes"}, w.pod.Spec.NodeSelector)
	env, _ := r.environment(t, w)
	require.Equal(t, "10.9.0.1/24", env["MULTILINK_ADDRESS"])
	tunnels := 0
	for _, port := range named[*corev1.Service](t, r, "edge-enablers-multilink").Spec.Ports {
		if port.Protocol == corev1.ProtocolUDP {
			tunnels++
		}
	}
	require.Equal(t, 2, tunnels)
	require.Contains(t, r.notes, "pod-security.kubernetes.io/enforce=privileged")
	require.NotContains(t, mustRender(t, "defaults").notes, "privileged")
}

func TestChart_environmentAndImages_areThoseOfTheValues(t *testing.T) {
	t.Parallel()
	r := mustRender(t, "traces-and-own-images")
	for block, w := range r.workloads() {
		env, _ := r.environment(t, w)
		require.Equal(t, "http://collector:4318", env["OTEL_EXPORTER_OTLP_ENDPOINT"], block)
		require.Equal(t, corev1.PullAlways, w.pod.Spec.Containers[0].ImagePullPolicy)
		require.Equal(t, "registry", w.pod.Spec.ImagePullSecrets[0].Name)
	}
	env, _ := r.environment(t, r.workloads()["modelrepo"])
	require.Equal(t, "always_on", env["OTEL_TRACES_SAMPLER"], "a block's own value wins")
	require.Equal(t, "1000000000", env["MODELREPO_MAX_CONTENT"], "not 1e+09")
	require.Equal(t, "15s", env["MODELREPO_DRAIN_DELAY"])
	require.Equal(t, "registry.example.org/edge/annotator:1.2.3", r.workloads()["annotator"].pod.Spec.Containers[0].Image)
	require.Contains(t, r.workloads()["modelrepo"].pod.Spec.Containers[0].Image, "@sha256:")

	w := mustRender(t, "scheduling-and-names").workloads()["annotator"]
	require.Equal(t, "site-a-annotator", w.object.GetName())
	require.Equal(t, []string{"-parallelism", "1"}, w.pod.Spec.Containers[0].Args)
	require.Equal(t, "edge", w.pod.Labels["team"])
	require.Len(t, w.pod.Spec.Tolerations, 1)
}
