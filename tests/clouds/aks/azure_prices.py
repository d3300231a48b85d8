"""Azure's public price list, in the form that it answers in.

learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices: no credentials, an OData filter with
values in their own case, pages with a link that names host and port, and more items than anybody asked for: Windows,
spot, low priority, reservations whose price is for all their years.  cloud.prices is what it lists.
"""
import re
from urllib.parse import quote

PAGE = 3
FILTER = re.compile(r"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '(\w+)'"
                    r" and \((armSkuName eq '\w+'(?: or armSkuName eq '\w+')*)\)")


def item(size, price, name=None, product="Virtual Machines NCasT4 v3 Series", **more):
    """One price of a size in westeurope."""
    name = name or size.removeprefix("Standard_").replace("_", " ")
    return {"currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": price, "unitPrice": price, "armRegionName": "westeurope",
            "location": "EU West", "effectiveStartDate": "2024-01-01T00:00:00Z", "meterId": "cd926b81-ccc0-5185-bb72-b2c301d4a3ea",
            "meterName": name, "productId": "DZH318Z0BQ4L", "skuId": "DZH318Z0BQ4L/00TG", "productName": product, "skuName": name,
            "serviceName": "Virtual Machines", "serviceId": "DZH313Z7MMC8", "serviceFamily": "Compute", "unitOfMeasure": "1 Hour",
            "type": "Consumption", "isPrimaryMeterRegion": True, "armSkuName": size, **more}


def listed(size="Standard_NC4as_T4_v3", price=0.605, spot=0.0921):
    short = size.removeprefix("Standard_").replace("_", " ")
    windows = {"product": "Virtual Machines NCasT4 v3 Series Windows"}
    return [item(size, price + 0.184, **windows), item(size, spot + 0.184, short + " Spot", **windows),
            item(size, price), item(size, price / 5, short + " Low Priority"), item(size, spot, short + " Spot"),
            item(size, 4302.0, type="Reservation", reservationTerm="1 Year"), item(size, 0.1, type="DevTestConsumption"),
            item(size, price * 2, effectiveStartDate="2021-11-01T00:00:00Z"),
            item(size, price / 3, armRegionName="eastus")]


def answer(query, headers, cloud):
    found = FILTER.fullmatch(query.get("$filter", ""))
    if not found or set(query) - {"$filter", "$skip"} or "Authorization" in headers:
        return 400, {}, {"Error": {"Code": "BadRequest", "Message": f"Invalid OData parameters supplied: {query}"}}
    sizes, skip = re.findall(r"'(\w+)'", found[2]), int(query.get("$skip", 0))
    have = [i for i in cloud.prices if i["armRegionName"] == found[1] and i["armSkuName"] in sizes and i["type"] == "Consumption"]
    link = f"https://prices.azure.com:443/api/retail/prices?$filter={quote(query['$filter'])}&$skip={skip + PAGE}"
    return 200, {}, {"BillingCurrency": "USD", "CustomerEntityId": "Default", "CustomerEntityType": "Retail",
                     "Items": have[skip:skip + PAGE], "NextPageLink": link if len(have) > skip + PAGE else None,
                     "Count": len(have[skip:skip + PAGE])}
