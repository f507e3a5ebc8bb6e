package exclusive_test

const samples = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, tier: front}, annotations: {note: a}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      containers:
      - name: app
        image: "registry.example/web:1"
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        ports: [{containerPort: 80}, {containerPort: 81, name: b}]
        resources: {requests: {cpu: 100m}}
        volumeMounts: [{name: data, mountPath: /data}]
      - {name: side, image: "registry.example/side:1", readinessProbe: {httpGet: {path: /, port: 80}}}
      volumes: [{name: data, emptyDir: {}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: small}
spec:
  selector: {matchLabels: {app: small}}
  template:
    metadata: {labels: {app: small}}
    spec: {containers: [{name: app, image: "registry.example/small:1"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: alias}
spec:
  selector: {matchLabels: {app: alias}}
  template:
    metadata: {labels: {app: alias}}
    spec: {serviceAccount: alias, containers: [{name: app, image: "registry.example/alias:1"}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      securityContext: {fsGroup: 7}
      containers: [{name: db, image: "registry.example/db:1", ports: [{containerPort: 5432}], env: [{name: A, value: "1"}]}]
  volumeClaimTemplates:
  - {metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {hostNetwork: true, containers: [{name: agent, image: "registry.example/agent:1", ports: [{containerPort: 9100}]}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: job, image: "registry.example/job:1"}]}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: b, c: d}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: empty}
---
apiVersion: v1
kind: Secret
metadata: {name: token}
data: {a: Yg==}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {}}]}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec: {rules: [{host: web.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: exclusive.example.com/v1
kind: Widget
metadata: {name: widget}
spec: {items: [{name: a, size: 1}], settings: {k: v}, tags: [t], whole: {b: c}, mode: slow}
---
apiVersion: exclusive.example.com/v1
kind: Widget
metadata: {name: bare}
spec: {}
`

// widgets has lists by key, sets, granular, atomic and free maps, and defaults.
const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.exclusive.example.com}
spec:
  group: exclusive.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              mode: {type: string, default: slow}
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, size: {type: integer, default: 2}}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              list: {type: array, items: {type: string}}
              settings: {type: object, additionalProperties: {type: string}}
              whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              options: {type: object, properties: {level: {type: integer, default: 1}}}
`
