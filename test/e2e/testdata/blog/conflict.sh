# Installs the chart, changes its image by hand, and shows that the next version's upgrade fails.
set -e
helm install blog ./blog -n blog --create-namespace
kubectl set image deploy/blog -n blog app=registry.example/blog:1.0-hotfix
echo 'tag: "1.1"' > blog/values.yaml
if helm upgrade blog ./blog -n blog; then
  exit 1
fi
