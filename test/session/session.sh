# What docs/session.svg shows, one command to a line; `make session` runs it.
: hidden; kubectl create namespace tenant-shop
kubectl collector create gateway -n tenant-shop --from-file config.yaml --tenant 1042 --cluster prod-eu-1
kubectl wait collector gateway -n tenant-shop --for condition=Ready
kubectl get collectors -n tenant-shop
kubectl collector config set gateway -n tenant-shop --from-file changed.yaml --yes
: hidden; kubectl wait collector gateway -n tenant-shop --for condition=Ready
kubectl collector history gateway -n tenant-shop
kubectl collector rollback gateway -n tenant-shop --yes
: hidden; kubectl wait collector gateway -n tenant-shop --for condition=Ready
kubectl collector status gateway -n tenant-shop
: hidden; kubectl delete namespace tenant-shop
