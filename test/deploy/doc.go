// Package deploy tests what deploys the servers: the Helm chart, the compose file, the dashboards
// of Grafana and the alerts of Prometheus below deploy/. It is a module of its own, because the
// libraries of Helm, Kubernetes, Prometheus and Grafana are not for the servers.
package deploy
