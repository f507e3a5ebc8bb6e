# Fails unless the upgrade after conflict.sh applied the chart's image.
kubectl get deploy/blog -n blog -o yaml | grep 'image: registry.example/blog:1.1$'
